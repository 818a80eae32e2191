// SPDX-License-Identifier: Apache-2.0

import Dispatch
import LastroSupport
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
    #expect(revisions.number(["a"], .max) { FileVersion([]) } == first)
    #expect(revisions.number(["b"], 0) { FileVersion([]) } != first)
    gate.signal()
    #expect(await eventually { revisions.number(["a"], .max) { FileVersion([]) } != first })
  }

  @Test("The first check of files is no change, even if its caller has not waited for it")
  func lateFirstLook() async {
    let revisions = TLSFileRevisions()
    let gate = DispatchSemaphore(value: 0)
    let first = revisions.number(["a"], 0) {
      gate.wait()
      return FileVersion([])
    }
    gate.signal()
    let isChecked = Lock(false)
    func next(_ version: FileVersion?) -> UInt64 {
      revisions.number(["a"], .max) {
        isChecked.withLock { $0 = true }
        return version
      }
    }
    #expect(await eventually { next(FileVersion([])) == first && isChecked.withLock(\.self) })
    #expect(next(FileVersion([])) == first)
    #expect(next(nil) == first)
    #expect(next(FileVersion(["/"])) != first)
  }

  @Test("A revision that was discarded is not issued again")
  func forgotten() {
    let revisions = TLSFileRevisions()
    let first = revisions.number(["a"], 0) { FileVersion([]) }
    for other in 0..<1_024 { _ = revisions.number(["\(other)"], 0) { FileVersion([]) } }
    #expect(revisions.number(["a"], 0) { FileVersion([]) } != first)
  }
}
