// SPDX-License-Identifier: Apache-2.0

internal import Lastro
public import LastroTesting

extension EventRecorder where Event == LoopbackWebSocketEvent {
  /// The requests of the handshakes so far.
  public var handshakes: [LoopbackRequest] {
    events.compactMap { if case .handshake(let request) = $0 { request } else { nil } }
  }

  /// All events so far except the handshakes.
  package var frames: [LoopbackWebSocketEvent] {
    events.filter { if case .handshake = $0 { false } else { true } }
  }
}
