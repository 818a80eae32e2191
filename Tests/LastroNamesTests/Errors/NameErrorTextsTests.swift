// SPDX-License-Identifier: Apache-2.0

import Foundation
import Lastro
import TestSupport
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
    try expectGolden(errors.map { "TransportError | \($0)\n" }.joined(), keptIn: Self.file)
  }
}
