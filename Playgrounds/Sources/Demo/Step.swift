// SPDX-License-Identifier: Apache-2.0

/// A feature that the demo shows and verifies.
struct Step: Sendable {
  let title: String
  let explanation: String
  let run: @Sendable (Stage) async throws -> Void
}
