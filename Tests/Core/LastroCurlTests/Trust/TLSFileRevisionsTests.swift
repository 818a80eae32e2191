// SPDX-License-Identifier: Apache-2.0

import Dispatch
import TestSupport
import Testing

@testable import LastroCurl

@Suite("Trust: revisions of files", .timeLimit(.minutes(15)))
struct TLSFileRevisionsTests {
  @Test("A file check that blocks does not hold up its caller forever, nor any other")
  func blockedLook() async {
    let revisions = TLSFileRevisions()
    let gate = DispatchSemaphore(value: 0)
    let first = revisions.number(["a"], 0) {
      gate.wait()
      return nil
    }
    #expect(first == 0)
    #expect(revisions.number(["a"], .max) { FileVersion([]) } == 0)
    #expect(revisions.number(["b"], 0) { FileVersion([]) } != 0)
    gate.signal()
    #expect(await eventually { revisions.number(["a"], .max) { FileVersion([]) } != 0 })
  }

  @Test("A revision that was discarded is not issued again")
  func forgotten() {
    let revisions = TLSFileRevisions()
    let first = revisions.number(["a"], 0) { FileVersion([]) }
    for other in 0..<1_024 { _ = revisions.number(["\(other)"], 0) { FileVersion([]) } }
    #expect(revisions.number(["a"], 0) { FileVersion([]) } != first)
  }
}
