// SPDX-License-Identifier: Apache-2.0

/// The settings that an HTTP/2 loopback server announces (RFC 9113 §6.5.2), and its behavior.
package struct LoopbackHTTP2Settings: Sendable, Hashable {
  /// SETTINGS_MAX_CONCURRENT_STREAMS. Default `nil`: not announced, no limit. Streams beyond the limit are refused
  /// (REFUSED_STREAM).
  package var maximumConcurrentStreams: UInt32?
  /// SETTINGS_INITIAL_WINDOW_SIZE: the number of bytes of a request body that may arrive before the server enlarges the
  /// window. Default 65,535. The connection's window is always 65,535.
  package var initialWindow: UInt32 = 65_535
  /// SETTINGS_MAX_FRAME_SIZE in bytes. Default 16,384.
  package var maximumFrameSize: UInt32 = 16_384
  /// Other settings by number, in order, including invalid ones. Default: none.
  package var others: [Setting] = []
  /// Whether WINDOW_UPDATE is sent for the bytes read of a request body. Default true; otherwise an upload larger than
  /// a window never ends.
  package var replenishesWindows = true
  /// Whether the handler is called when the request's head has arrived, before its body. Default false: it is called
  /// when the request is complete.
  package var answersEarly = false

  /// A setting, identified by its number.
  package struct Setting: Sendable, Hashable {
    /// The number, such as 2 for SETTINGS_ENABLE_PUSH.
    package var identifier: UInt16
    /// The value.
    package var value: UInt32

    /// Creates a setting.
    package init(_ identifier: UInt16, _ value: UInt32) {
      self.identifier = identifier
      self.value = value
    }
  }

  /// Creates the default settings.
  package init() {}

  var announced: [Setting] {
    var all: [Setting] = []
    if let maximumConcurrentStreams { all.append(Setting(3, maximumConcurrentStreams)) }
    if initialWindow != 65_535 { all.append(Setting(4, initialWindow)) }
    if maximumFrameSize != 16_384 { all.append(Setting(5, maximumFrameSize)) }
    return all + others
  }
}
