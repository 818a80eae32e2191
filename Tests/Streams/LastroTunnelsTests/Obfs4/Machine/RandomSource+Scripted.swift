// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroSupport

extension RandomSource {
  /// Returns a source that returns prepared answers, one per draw, and then those of a seeded source.
  ///
  /// - Parameter answers: the bytes of each draw. A draw takes whole numbers, so they are padded with zeros.
  static func scripted(_ answers: [[UInt8]], then seed: UInt64 = 0) -> RandomSource {
    let words = answers.flatMap { answer in
      stride(from: 0, to: answer.count, by: 8).map { start in
        answer[start...].prefix(8).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
      }
    }
    let rest = Lock(words[...])
    let seeded = RandomSource.seeded(seed)
    return RandomSource { rest.withLock { $0.popFirst() } ?? seeded.next() }
  }
}
