// SPDX-License-Identifier: Apache-2.0

package import Lastro

/// A dialer over another one.
package protocol LayeredDialer: Dialer {
  /// `nil` where it has none.
  var dialerBelow: (any Dialer)? { get }
}

/// A dialer whose streams belong to an event loop.
package protocol LoopDialer: Dialer {
  /// The loop that HTTP over its streams runs on.
  var loop: EventLoop? { get }
}

/// A dialer whose trust rests on files, which may change.
package protocol TLSFileDialer: Dialer {
  /// Looks whether files have changed, once a second at most, so that `trustRevisions(for:)` need not wait for that on
  /// the thread of an event loop. Blocks for a second at most.
  ///
  /// - Parameter options: those of a request; `nil` for the dialer's own.
  func lookAtFiles(for options: ConnectionOptions?)
}

extension Dialer {
  /// The dialer and those below it.
  var layers: [any Dialer] {
    var layers: [any Dialer] = [self]
    while let below = (layers.last as? any LayeredDialer)?.dialerBelow { layers.append(below) }
    return layers
  }
}

extension EventLoop {
  /// Returns the loop for HTTP over a dialer: that of the engine at its bottom, else one that all others share.
  ///
  /// - Parameter time: measures limits. A test's clock gets a loop of its own.
  static func forHTTP(over dialer: any Dialer, time: LoopTime) throws(ConfigurationError) -> EventLoop {
    guard time.source == nil else { return try EventLoop(time: time) }
    for layer in dialer.layers {
      if let loop = (layer as? any LoopDialer)?.loop { return loop }
    }
    return try shared()
  }
}
