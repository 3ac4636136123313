import { expect, test } from "vitest";
import { clientName, projectName } from "./clients";

test("a known client has its people's name, another its own", () => {
  expect(clientName("claude-code")).toBe("Claude Code");
  expect(clientName("my-agent")).toBe("my-agent");
});

test("a project is called by its last folder", () => {
  expect(projectName("/home/ana/src/harbour")).toBe("harbour");
  expect(projectName("C:\\work\\harbour\\")).toBe("harbour");
  expect(projectName("harbour")).toBe("harbour");
  expect(projectName("/")).toBe("/");
});
