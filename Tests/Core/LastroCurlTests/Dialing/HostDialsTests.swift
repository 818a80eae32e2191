// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import LastroCurl

@Suite("The queue of dials to one host")
struct HostDialsTests {
  @Test("Dials leave the queue in order, without those that were given up", arguments: [1, 2, 3])
  func order(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    var dials = HostDials()
    var waiting: [UInt64] = []
    for id in 1...2_000 as ClosedRange<UInt64> {
      switch Int.random(in: 0..<4, using: &generator) {
      case 0:
        let next = dials.popFirst { waiting.contains($0) }
        #expect(next == waiting.first)
        waiting = Array(waiting.dropFirst())
      case 1 where !waiting.isEmpty:
        waiting.remove(at: Int.random(in: 0..<waiting.count, using: &generator))
        dials.gaveUp { waiting.contains($0) }
        #expect(dials.count <= 2 * waiting.count)
      default:
        dials.append(id)
        waiting.append(id)
      }
    }
  }

  @Test("To give up all dials, a bounded number of ids is looked at for each")
  func givenUp() {
    let count = 16_384
    var dials = HostDials()
    var waiting = Set((0..<count).map { UInt64($0) })
    for id in 0..<UInt64(count) { dials.append(id) }
    var looks = 0
    for id in 0..<UInt64(count) {
      waiting.remove(id)
      dials.gaveUp {
        looks += 1
        return waiting.contains($0)
      }
    }
    #expect(looks <= 4 * count && dials.count == 0, "\(looks)")
    let next = dials.popFirst { _ in true }
    #expect(next == nil)
  }
}
