// Keeps a page of the web UI on its session: it asks how the session is, and says so where something is wrong. It changes nothing.
(function () {
  "use strict";
  if (window.__mooringContinuity) return;
  window.__mooringContinuity = true;

  // Whose page this is, in a word that only the edge can make: it stands in the tag that names this script.
  var tag = document.currentScript, whose = tag ? tag.getAttribute("data-mooring-page") : null;

  var CALM = 15000, BUSY = 3000, EAGER = 30000, PATIENCE = 10000, MISSING = 4;
  var ID = /^[A-Za-z0-9_-]{1,128}$/;
  var id = null, asked = 0, timer = 0, stopped = false, failures = 0, missing = 0, eagerUntil = 0, streaming = false;
  var bar = null, words = null, link = null, shown = "", dismissed = "", pending = null;

  function session() {
    var parts = location.pathname.split("/");
    if (parts[1] === "session" && ID.test(parts[2] || "") && parts[2] !== "static") return parts[2];
    try {
      var kept = localStorage.getItem("hermes-webui-session");
      return kept && ID.test(kept) ? kept : null;
    } catch (e) {
      return null;
    }
  }

  function here() {
    var path = location.pathname;
    return path.charAt(0) === "/" && !/\/\/|\\|\s|\.\.|^\/oauth2(\/|$)/.test(path) ? path : "/";
  }

  function build() {
    bar = document.createElement("div");
    bar.setAttribute("role", "status");
    bar.setAttribute("aria-live", "polite");
    bar.setAttribute("data-mooring-continuity", "banner");
    var style = {
      position: "fixed", left: "12px", bottom: "12px", zIndex: "2147483000", maxWidth: "min(26rem, calc(100vw - 24px))", boxSizing: "border-box",
      display: "none", gap: "4px", alignItems: "center", padding: "6px 4px 6px 12px", borderRadius: "10px", border: "1px solid GrayText",
      background: "Canvas", color: "CanvasText", colorScheme: "light dark", font: "14px/1.4 system-ui, sans-serif", boxShadow: "0 2px 10px rgba(0,0,0,.18)",
    };
    for (var name in style) bar.style[name] = style[name];
    var said = document.createElement("div");
    words = document.createElement("span");
    words.style.marginRight = "10px";
    link = document.createElement("a");
    link.style.color = "LinkText";
    said.append(words, link);
    var close = document.createElement("button");
    close.type = "button";
    close.textContent = "\u00d7";
    close.setAttribute("aria-label", "Hide this notice");
    var plain = { border: "0", background: "transparent", color: "inherit", font: "inherit", cursor: "pointer", minWidth: "32px", minHeight: "32px", padding: "0", flex: "none" };
    for (var key in plain) close.style[key] = plain[key];
    close.addEventListener("click", function () {
      dismissed = shown;
      bar.style.display = "none";
    });
    bar.append(said, close);
    document.body.append(bar);
  }

  function show(state, text, href, label) {
    if (state === shown) return;
    shown = state;
    if (state !== dismissed) dismissed = "";
    if (!state) {
      if (bar) bar.style.display = "none";
      return;
    }
    if (!document.body) return;
    if (!bar || !bar.isConnected) build();
    words.textContent = text;
    link.textContent = label || "";
    if (href) link.setAttribute("href", href);
    else link.removeAttribute("href");
    link.style.display = href ? "" : "none";
    if (state !== dismissed) bar.style.display = "flex";
  }

  function later(wait) {
    clearTimeout(timer);
    timer = stopped ? 0 : setTimeout(poll, wait);
  }

  function calm() {
    return Date.now() < eagerUntil ? BUSY : CALM;
  }

  function signIn() {
    stopped = true;
    show("login", "You are signed out here.", "/oauth2/start?rd=" + encodeURIComponent(here()), "Sign in again");
  }

  function somebodyElse() {
    stopped = true;
    show("other", "Somebody else has signed in here; this page is not theirs.", "/", "Go to the first page");
  }

  function trouble() {
    failures++;
    if (failures > 1) show("trouble", "Reconnecting\u2026");
    later(CALM * (0.8 + Math.random() * 0.4));
  }

  function patience(response) {
    var wait = parseInt(response.headers.get("Retry-After"), 10);
    return wait > 0 ? Math.min(wait, 300) * 1000 : CALM;
  }

  function body(response) {
    return response.json().then(function (value) { return value; }, function () { return null; });
  }

  function good(value) {
    if (!value || typeof value !== "object" || !value.session) return signIn();
    failures = missing = 0;
    var busy = value.session.is_streaming === true;
    if (streaming && !busy) eagerUntil = Date.now() + EAGER;
    streaming = busy;
    show(busy ? "working" : "", "Working\u2026");
    later(busy ? BUSY : calm());
  }

  function conflict(value) {
    failures = 0;
    if (value && value.code === "session_profile_mismatch") {
      var name = typeof value.profile === "string" ? value.profile.slice(0, 64) : "";
      show("profile:" + name, "This session belongs to a different profile" + (name ? ": " + name : "") + ". Switch to it in the profile menu to go on.");
    }
    later(CALM);
  }

  function gone(value) {
    if (!value || !value.error) return trouble();
    failures = 0;
    show("gone", "This session is no longer stored.", "/", "Go to the first page");
    if (++missing < MISSING) later(CALM);
  }

  // answered says what an answer means; the session that it is about is still the one on the page.
  function answered(response, mine) {
    var type = response.headers.get("Content-Type") || "", owner = response.headers.get("X-Mooring-Page");
    if (whose && owner && owner !== whose) return somebodyElse();
    function read(then) {
      return body(response).then(function (value) { if (mine()) then(value); });
    }
    switch (true) {
      case response.type === "opaqueredirect" || response.status === 401 || response.status === 403:
        return signIn();
      case response.status === 200:
        return /^application\/json\b/i.test(type) ? read(good) : signIn();
      case response.status === 409:
        return read(conflict);
      case response.status === 404:
        return read(gone);
      case response.status === 429 || response.status === 503:
        return later(patience(response));
    }
    return trouble();
  }

  function poll() {
    clearTimeout(timer);
    if (document.hidden || stopped) return;
    var now = session();
    if (now !== id) {
      id = now;
      failures = missing = 0;
      streaming = false;
      eagerUntil = Date.now() + EAGER;
      show("");
    }
    if (pending) pending.abort();
    if (!id) return later(CALM);
    var turn = ++asked, stop = new AbortController();
    pending = stop;
    var watch = setTimeout(function () { stop.abort(); }, PATIENCE);
    function mine() { return turn === asked && session() === id; }
    fetch("/api/session?session_id=" + encodeURIComponent(id) + "&messages=1&msg_limit=1&resolve_model=0", {
      credentials: "same-origin", cache: "no-store", redirect: "manual", headers: { Accept: "application/json" }, signal: stop.signal,
    }).then(function (response) {
      if (mine()) return answered(response, mine);
    }).catch(function () {
      if (mine()) trouble();
    }).then(function () {
      clearTimeout(watch);
      if (turn !== asked) return;
      pending = null;
      if (session() !== id) again(); // another tab has changed it, and nothing told this one
    });
  }

  function again() {
    if (document.hidden) {
      clearTimeout(timer);
      return;
    }
    stopped = false;
    missing = 0;
    poll();
  }

  function moved() {
    if (session() !== id) again();
  }

  function sent() {
    eagerUntil = Date.now() + EAGER;
    if (!stopped && !pending) later(BUSY);
  }

  ["pushState", "replaceState"].forEach(function (name) {
    var was = history[name];
    history[name] = function () {
      var result = was.apply(this, arguments);
      setTimeout(moved, 0);
      return result;
    };
  });
  window.addEventListener("popstate", moved);
  window.addEventListener("focus", again);
  window.addEventListener("online", again);
  window.addEventListener("pageshow", again);
  document.addEventListener("visibilitychange", again);
  document.addEventListener("submit", sent, true);
  document.addEventListener("keydown", function (e) { if (e.key === "Enter" && !e.shiftKey) sent(); }, true);
  poll();
})();
