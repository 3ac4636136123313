import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { Suspense } from "react";
import { Route, Switch } from "wouter";
import { ApiError, whenUnauthorized } from "@/api/client";
import { Toaster, Tooltips } from "@/ui";
import { NotFound } from "./NotFound";
import { Chat, Search, Session, Sessions, SignIn, Tenants, Upstreams, Usage } from "./pages";
import { Shell } from "./Shell";

const client = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      // What the server refuses stays refused; a broken connection is worth a second try.
      retry: (failures, error) => !(error instanceof ApiError && error.status < 500) && failures < 2,
      refetchOnWindowFocus: false, // live events say what changed
    },
  },
});

let leaving = false;

whenUnauthorized(() => {
  if (leaving || location.pathname === "/sign-in") return;
  leaving = true;
  client.clear();
  location.assign(`/sign-in?back=${encodeURIComponent(location.pathname + location.search)}`);
});

/** `/` and `/chat/…` are one page, so that a chat which gets its address is not built anew. */
const chat = /^\/(?:chat\/(?<friendlyId>[^/]+)\/?)?$/;

export function App() {
  return (
    <QueryClientProvider client={client}>
      <Switch>
        <Route path="/sign-in">
          <Suspense fallback={null}>
            <SignIn />
          </Suspense>
        </Route>
        <Route>
          <Shell>
            <Switch>
              <Route path={chat} component={Chat} />
              <Route path="/sessions" component={Sessions} />
              <Route path="/sessions/:id" component={Session} />
              <Route path="/search" component={Search} />
              <Route path="/upstreams" component={Upstreams} />
              <Route path="/usage" component={Usage} />
              <Route path="/tenants" component={Tenants} />
              <Route component={NotFound} />
            </Switch>
          </Shell>
        </Route>
      </Switch>
      <Toaster />
      <Tooltips />
    </QueryClientProvider>
  );
}
