// SPDX-License-Identifier: Apache-2.0

import LastroTesting
import Testing

@Suite("lastro fetch on a terminal", .timeLimit(.minutes(15)))
struct TerminalTests {
  private static let json = #"{"a":[1,true],"b":"x"}"#

  private func server() throws -> LoopbackServer { try LoopbackServer.http { _ in .json(Self.json) } }

  @Test("JSON is indented and coloured on a terminal, and comes as it is elsewhere")
  func colours() async throws {
    let server = try server()
    let shown = try await Lastro.runOnTerminal(
      ["fetch", server.baseURL], environment: ["TERM": "xterm", "NO_COLOR": ""])
    #expect(shown.status == 0, "\(shown.errors)")
    func colour(_ text: String, _ number: String) -> String { "\u{1B}[\(number)m\(text)\u{1B}[0m" }
    #expect(
      shown.text == """
        {
          \(colour("\"a\"", "34;1")): [
            \(colour("1", "36")),
            \(colour("true", "33"))
          ],
          \(colour("\"b\"", "34;1")): \(colour("\"x\"", "32"))
        }

        """, "\(shown.text) \(shown.errors)")
    let elsewhere = try await Lastro.run(["fetch", server.baseURL], environment: ["TERM": "xterm"])
    #expect(elsewhere.text == Self.json, "\(elsewhere.errors)")
  }

  @Test(
    "NO_COLOR and a dumb terminal get no colours, and --raw no indentation",
    arguments: [([], ["NO_COLOR": "1"]), ([], ["TERM": "dumb"]), (["--raw"], ["TERM": "xterm"])]
      as [([String], [String: String])])
  func plain(flags: [String], environment: [String: String]) async throws {
    let server = try server()
    let shown = try await Lastro.runOnTerminal(["fetch"] + flags + [server.baseURL], environment: environment)
    let indented = "{\n  \"a\": [\n    1,\n    true\n  ],\n  \"b\": \"x\"\n}\n"
    #expect(shown.status == 0 && shown.text == (flags.isEmpty ? indented : Self.json), "\(shown.text) \(shown.errors)")
  }
}
