// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroSupport
import Testing

@Suite("Exclusive reading and writing of a stream")
struct TurnsTests {
  @Test("One task reads and one writes: a second one of either is refused")
  func second() throws {
    var turns = Turns()
    try turns.begin(.reading)
    try turns.begin(.writing)
    for turn: Turns in [.reading, .writing] {
      let error = #expect(throws: TransportError.self) { try turns.begin(turn) }
      #expect(error?.code == .operationInProgress)
    }
  }

  @Test("A turn that is returned can be taken again, and the other one is unaffected")
  func again() throws {
    var turns = Turns()
    try turns.begin(.reading)
    try turns.begin(.writing)
    turns.remove(.reading)
    #expect(turns == .writing)
    try turns.begin(.reading)
    #expect(turns == [.reading, .writing])
  }
}
