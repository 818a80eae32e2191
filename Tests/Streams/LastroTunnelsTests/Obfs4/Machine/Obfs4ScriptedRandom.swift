// SPDX-License-Identifier: Apache-2.0

import LastroTunnels

/// A source that returns prepared answers, one per draw, and then the bytes of a seeded source.
struct Obfs4ScriptedRandom: Obfs4Random {
  private var answers: ArraySlice<[UInt8]>
  private var rest: Obfs4SeededRandom

  /// Creates a source. An answer whose length differs from the requested one is cut or padded with zeros.
  init(_ answers: [[UInt8]], then seed: UInt64 = 0) {
    self.answers = answers[...]
    rest = Obfs4SeededRandom(seed: seed)
  }

  mutating func fill(_ count: Int) -> [UInt8] {
    guard let answer = answers.popFirst() else { return rest.fill(count) }
    return answer.prefix(count) + [UInt8](repeating: 0, count: max(0, count - answer.count))
  }
}
