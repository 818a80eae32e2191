// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
internal import LastroSupport

extension ScriptedTransport.Step {
  /// Responds with status 200 and server-sent events, which arrive in pieces with pauses between them.
  ///
  /// ```swift
  /// let clock = ManualClock()
  /// let transport = ScriptedTransport([
  ///   .events((.seconds(15), "data: Hello\n\n"), (.seconds(40), "data: [DONE]\n\n"), on: clock)
  /// ])
  /// ```
  ///
  /// A pause begins when the stream's reader asks for the next piece, and is a sleep of the clock:
  /// ``ManualClock/waitForSleepers(count:within:)`` returns when it has begun. The time limits of the stream pass on the
  /// same clock. If the clock advances automatically, a pause must be shorter than these limits.
  ///
  /// - Parameters:
  ///   - pieces: the pause before each piece, and its text. A piece need not end where an event does. An empty text at
  ///     the end delays the end of the stream.
  ///   - clock: the clock of the stack.
  public static func events(_ pieces: (pause: Duration, text: String)..., on clock: ManualClock) -> Self {
    let sleep = clock.timeSource.sleep
    return .perform { _ throws(TransportError) in
      let rest = Lock(pieces[...])
      let next = { @Sendable () async throws(TransportError) -> Data? in
        while let piece = rest.withLock({ $0.popFirst() }) {
          if piece.pause > .zero {
            do { try await sleep(piece.pause) } catch { throw .cancelled(requestSent: true) }
          }
          if !piece.text.isEmpty { return Data(piece.text.utf8) }
        }
        return nil
      }
      let head = HTTPResponse(status: .ok, headerFields: [.contentType: "text/event-stream"])
      return TransferResponse(head: head, body: ResponseBody(next: next))
    }
  }
}
