// SPDX-License-Identifier: Apache-2.0

/// A feature that the demo shows and verifies.
struct Step: Sendable {
  let title: String
  let explanation: String
  /// The file and line that define the step, from the folder of the clone.
  let source: String
  let run: @Sendable (Stage) async throws -> Void

  init(
    title: String, explanation: String, file: String = #filePath, line: Int = #line,
    run: @escaping @Sendable (Stage) async throws -> Void
  ) {
    self.title = title
    self.explanation = explanation
    self.run = run
    let start = file.ranges(of: "Playgrounds/Sources/").last?.lowerBound ?? file.startIndex
    source = "\(file[start...]):\(line)"
  }
}
