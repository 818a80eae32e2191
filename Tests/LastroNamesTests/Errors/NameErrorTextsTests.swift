// SPDX-License-Identifier: Apache-2.0

import Foundation
import Lastro
import Testing

@testable import LastroNames

/// What is said of names that are not found, as `NameErrorTexts.txt` beside this file has it.
@Suite("Error texts of names")
struct NameErrorTextsTests {
  private static let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "NameErrorTexts.txt")

  @Test("are those of the file; LASTRO_RENEW=1 writes it anew")
  func golden() throws {
    let errors: [TransportError] = [
      .notAnAddress("far.example\n"),
      .lookUpFailed(try HostName("far.test"), "Temporary failure in name resolution", -3),
      .tooManyLookUps(4_096), .noThreadForNames,
    ]
    let made = errors.map { "TransportError | \($0)\n" }.joined()
    let kept = (try? String(contentsOf: Self.file, encoding: .utf8)) ?? ""
    if ProcessInfo.processInfo.environment["LASTRO_RENEW"] == "1" {
      try Data(made.utf8).write(to: Self.file)
      Issue.record("\(Self.file.path()) was written anew: read what changed, then run without LASTRO_RENEW")
      return
    }
    #expect(made.components(separatedBy: "\n") == kept.components(separatedBy: "\n"))
  }
}
