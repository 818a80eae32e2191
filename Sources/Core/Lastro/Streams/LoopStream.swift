// SPDX-License-Identifier: Apache-2.0

/// A stream implemented by Lastro, whose functions never block, so that an event loop may call them.
package protocol LoopStream: ByteStream {
  /// Whether its reads and writes may run on the thread of an event loop. This requires the same of any stream below.
  var runsOnLoops: Bool { get }
  /// Whether it has ended, although a task that reads may not have learned that yet. Default false: not known.
  var hasEnded: Bool { get }
}

extension LoopStream {
  package var hasEnded: Bool { false }
}

extension ByteStream {
  /// Whether a stream of Lastro's own has ended (``LoopStream/hasEnded``). It is false for other streams.
  package var isKnownToHaveEnded: Bool { (self as? any LoopStream)?.hasEnded == true }
}
