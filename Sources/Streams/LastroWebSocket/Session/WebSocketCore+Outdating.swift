// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroSupport
internal import LastroWire

extension WebSocketCore {
  /// The interval between checks whether a socket is outdated.
  static let outdatingInterval = Duration.seconds(5)

  /// Waits until the trust rules or the client certificate of the socket have changed, or the socket has ended.
  ///
  /// - Returns: true if the socket is outdated; false once it has ended.
  /// - Throws: `cancelled`.
  func waitUntilOutdated() async throws(WebSocketError) -> Bool {
    guard let stream = stream as? WebSocketStream else {
      _ = try await finalState()
      return false
    }
    while true {
      if change({ state, _ in state.current.isTerminal }) { return false }
      if !stream.isCurrent { return true }
      switch await interruptible(within: Self.outdatingInterval, time: time, { await self.lastState() }) {
      case .success(.some): return false
      case .failure(.limit): continue
      case .success(nil), .failure(.cancelled): throw .cancelled
      }
    }
  }

  private func finalState() async throws(WebSocketError) -> WebSocketState {
    guard let last = await lastState() else { throw .cancelled }
    return last
  }

  /// Closes the socket once it is outdated, in a task that ends with it. The first check takes place after 5 s, so that
  /// files that change all the time do not cause a storm of connections.
  func closeWhenOutdated() {
    run { [self] in
      do { try await time.sleep(Self.outdatingInterval) } catch { return }
      guard (try? await waitUntilOutdated()) == true else { return }
      change {
        $0.closeOutdated(.goingAway, reason: "the client certificate or the trust rules have changed", now: $1)
      }
    }
  }
}
