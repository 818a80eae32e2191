// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroCurl
import LastroTesting

/// The code of a guide, which can be run.
struct Page: Sendable {
  /// The name of the guide's file, without its extension.
  let name: String
  let body: @Sendable (Stage) async throws -> Void

  init(_ name: String, _ body: @escaping @Sendable (Stage) async throws -> Void) {
    self.name = name
    self.body = body
  }

  /// Runs the page, and returns the claims that do not hold and other problems.
  func run(updating: Bool) async -> [String] {
    do {
      let stage = try Stage(page: name, updating: updating)
      defer { stage.server.stop() }
      do {
        try await body(stage)
      } catch {
        stage.problems.record("ended early: \(error)")
      }
      return stage.problems.events
    } catch {
      return ["the demo server does not start: \(error)"]
    }
  }
}
