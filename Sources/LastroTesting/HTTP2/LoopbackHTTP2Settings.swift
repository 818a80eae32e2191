// SPDX-License-Identifier: Apache-2.0

/// What an HTTP/2 loopback server announces (RFC 9113 §6.5.2), and how it keeps to it.
public struct LoopbackHTTP2Settings: Sendable, Hashable {
  /// SETTINGS_MAX_CONCURRENT_STREAMS. Default `nil`: not announced, no limit. Streams beyond it are refused
  /// (REFUSED_STREAM).
  public var maximumConcurrentStreams: UInt32?
  /// SETTINGS_INITIAL_WINDOW_SIZE: bytes of a request body that may come before the server gives room for more. Default
  /// 65,535. The connection's window is 65,535 always.
  public var initialWindow: UInt32 = 65_535
  /// SETTINGS_MAX_FRAME_SIZE in bytes. Default 16,384.
  public var maximumFrameSize: UInt32 = 16_384
  /// Other settings by number, in order; illegal ones too. Default none.
  public var others: [Setting] = []
  /// Whether WINDOW_UPDATE is sent for what was read of a request body. Default true; without, an upload larger than a
  /// window never ends.
  public var replenishesWindows = true
  /// Whether the handler is called when the request's head is there, with the body still to come. Default false: when
  /// the request is complete.
  public var answersEarly = false

  /// A setting by its number.
  public struct Setting: Sendable, Hashable {
    /// Such as 2 for SETTINGS_ENABLE_PUSH.
    public var identifier: UInt16
    /// Its value.
    public var value: UInt32

    /// Makes a setting.
    public init(_ identifier: UInt16, _ value: UInt32) {
      self.identifier = identifier
      self.value = value
    }
  }

  /// Makes the default settings.
  public init() {}

  var announced: [Setting] {
    var all: [Setting] = []
    if let maximumConcurrentStreams { all.append(Setting(3, maximumConcurrentStreams)) }
    if initialWindow != 65_535 { all.append(Setting(4, initialWindow)) }
    if maximumFrameSize != 16_384 { all.append(Setting(5, maximumFrameSize)) }
    return all + others
  }
}
