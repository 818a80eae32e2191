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

extension EventLoop {
  /// Returns the loop for HTTP over a dialer: that of the engine at its bottom, else one that all others share.
  ///
  /// - Parameter time: measures limits. A test's clock gets a loop of its own.
  static func forHTTP(over dialer: any Dialer, time: LoopTime) throws(ConfigurationError) -> EventLoop {
    guard time.source == nil else { return try EventLoop(time: time) }
    var dialer: (any Dialer)? = dialer
    while let current = dialer {
      if let loop = (current as? any LoopDialer)?.loop { return loop }
      dialer = (current as? any LayeredDialer)?.dialerBelow
    }
    return try shared()
  }
}
