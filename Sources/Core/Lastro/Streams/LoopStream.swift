// SPDX-License-Identifier: Apache-2.0

/// A stream implemented by Lastro, whose functions never block, so that an event loop may call them.
package protocol LoopStream: ByteStream {
  /// Whether its reads and writes may run on the thread of an event loop. This requires the same of any stream below.
  var runsOnLoops: Bool { get }
  /// Returns whether it has ended, although a task that reads may not have learned that yet. Default: false, for not
  /// known.
  ///
  /// - Parameter loop: the context of the loop on which the caller runs, if the stream shall look for its end. On its
  ///   own loop, it gives its pending read what has arrived. `nil` to ask only for what is known.
  func hasEnded(on loop: AnyObject?) -> Bool
}

extension LoopStream {
  package func hasEnded(on loop: AnyObject?) -> Bool { false }
}

extension ByteStream {
  /// Returns whether a stream of Lastro's own has ended (``LoopStream/hasEnded(on:)``), and false for other streams.
  package func isKnownToHaveEnded(on loop: AnyObject?) -> Bool { (self as? any LoopStream)?.hasEnded(on: loop) == true }
}
