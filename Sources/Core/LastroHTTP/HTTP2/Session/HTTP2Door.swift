// SPDX-License-Identifier: Apache-2.0

internal import CLastroHTTP2

/// The callbacks for the C layer. Their context is the session, which outlives the C layer.
enum HTTP2Door {
  static var events: clastro_http2_events {
    clastro_http2_events(
      block_limit: { context, number, slot in with(context) { $0.blockLimit(number, slot) } },
      block_too_large: { context, number, slot in with(context) { $0.blockTooLarge(number, slot) } },
      field_invalid: { context, number, slot, name, length, value, valueLength in
        with(context) {
          $0.leavesOutInvalidField(
            number, slot, UnsafeRawBufferPointer(start: name, count: length),
            UnsafeRawBufferPointer(start: value, count: valueLength))
        }
      },
      block: { context, block in goesOn(context) { $0.block(block.pointee) } },
      data: { context, number, slot, bytes, count in
        goesOn(context) { $0.data(number, slot, UnsafeRawBufferPointer(start: bytes, count: count)) }
      },
      data_end: { context, number, slot, count, ends in goesOn(context) { $0.dataEnd(number, slot, count, ends) } },
      reset: { context, number, slot, code in goesOn(context) { $0.wasReset(number, slot, code) } },
      settings: { context in goesOn(context) { $0.tell(.capacity) } },
      pong: { context, payload in goesOn(context) { $0.pong(payload) } },
      going_away: { context, last, code, bytes, length in
        goesOn(context) { $0.goingAway(last, code, text(bytes, length)) }
      },
      refused: { context, number, slot, reason in
        with(context) { $0.refused(number, slot, String(cString: reason)) }
      },
      sent_head: { context, number, slot, ends in with(context) { $0.sentHead(number, slot, ends) } },
      sent_data: { context, number, slot, count, ends in with(context) { $0.sentData(number, slot, count, ends) } },
      sent_going_away: { context, code, bytes, length in
        with(context) { $0.sentGoingAway(code, text(bytes, length)) }
      },
      not_sent: { context, number, slot, reason in
        with(context) { $0.notSent(number, slot, String(cString: reason)) }
      },
      piece: { context, number, slot, room in with(context) { $0.piece(number, slot, room) } },
      take: { context, number, slot, space, count in
        with(context) { $0.take(number, slot, UnsafeMutableRawBufferPointer(start: space, count: count)) }
      },
      closed: { context, number, slot, code in with(context) { $0.closed(number, slot, code) } })
  }
}

private func with<Result>(_ context: UnsafeMutableRawPointer, _ body: (HTTP2Session) -> Result) -> Result {
  Unmanaged<HTTP2Session>.fromOpaque(context)._withUnsafeGuaranteedRef(body)
}

/// Performs a callback, and returns whether reading continues, which it does until the connection has ended.
private func goesOn(_ context: UnsafeMutableRawPointer, _ body: (HTTP2Session) -> Void) -> Bool {
  with(context) { session in
    body(session)
    return session.loss == nil
  }
}

/// Returns the debug data of a GOAWAY, at most 256 bytes of it.
private func text(_ bytes: UnsafePointer<UInt8>?, _ length: Int) -> String {
  String(decoding: UnsafeBufferPointer(start: bytes, count: bytes == nil ? 0 : min(length, 256)), as: UTF8.self)
}
