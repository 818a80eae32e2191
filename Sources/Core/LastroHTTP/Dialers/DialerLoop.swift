// SPDX-License-Identifier: Apache-2.0

package import Lastro

/// A dialer that dials through another one.
package protocol LayeredDialer: Dialer {
  /// The dialer below; `nil` if there is none.
  var dialerBelow: (any Dialer)? { get }
}

/// A dialer whose streams belong to an event loop.
package protocol LoopDialer: Dialer {
  /// The loop that HTTP over its streams runs on; `nil` if it has none.
  var loop: EventLoop? { get }
}

/// A dialer whose trust depends on files that may change.
package protocol TLSFileDialer: Dialer, IdentityWatching {
  /// Checks whether the files have changed, at most once a second, so that `trustRevisions(for:)` does not have to wait
  /// for that on the thread of an event loop. Blocks for at most one second for each set of files: the roots and the
  /// client certificates.
  ///
  /// - Parameter options: the options of a request; `nil` for the dialer's own.
  func lookAtFiles(for options: ConnectionOptions?)
}

extension Dialer {
  /// The dialer and the dialers below it, from top to bottom.
  var layers: [any Dialer] {
    var layers: [any Dialer] = [self]
    while let below = (layers.last as? any LayeredDialer)?.dialerBelow { layers.append(below) }
    return layers
  }
}

extension EventLoop {
  /// Returns the loop for HTTP over a dialer: the loop of the outermost layer that has one, or else the loop that all
  /// dialers without one share.
  ///
  /// - Parameter time: the clock that measures limits. A test clock gets a loop of its own.
  static func forHTTP(over dialer: any Dialer, time: LoopTime) throws(ConfigurationError) -> EventLoop {
    guard time.source == nil else { return try EventLoop(time: time) }
    for layer in dialer.layers {
      if let loop = (layer as? any LoopDialer)?.loop { return loop }
    }
    return try shared()
  }
}
