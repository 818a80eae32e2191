// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Lastro
public import LastroTesting

/// The record of the events of a loopback WebSocket server, in order.
public final class LoopbackWebSocketRecord: Sendable {
  private let recorder = EventRecorder<LoopbackWebSocketEvent>()

  /// Creates a record without events.
  public init() {}

  /// The events so far, in order.
  public var events: [LoopbackWebSocketEvent] { recorder.events }

  /// The heads of the handshakes so far.
  public var handshakes: [RawRequestHead] {
    events.compactMap { if case .handshake(let head) = $0 { head } else { nil } }
  }

  /// All events so far except the handshakes.
  public var frames: [LoopbackWebSocketEvent] {
    events.filter { if case .handshake = $0 { false } else { true } }
  }

  func append(_ event: LoopbackWebSocketEvent) { recorder.record(event) }

  /// Waits until the given number of events is reached, including handshakes.
  ///
  /// - Throws: `CancellationError`.
  @discardableResult
  public func waitForEvents(count: Int) async throws -> [LoopbackWebSocketEvent] {
    try await recorder.waitForEvents(count: count)
  }
}
