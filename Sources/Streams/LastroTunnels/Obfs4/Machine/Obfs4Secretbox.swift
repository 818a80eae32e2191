// SPDX-License-Identifier: Apache-2.0
private import CLastroPrimitives

/// NaCl's secretbox with a fixed key and a fixed nonce prefix of 16 bytes.
package struct Obfs4Secretbox: ~Copyable, @unchecked Sendable {
  // Sendable because the value has a single owner, which alone uses the object behind the pointer.
  private let box: OpaquePointer

  package enum Opening: Equatable, Sendable { case opened, forged, failed }

  /// Creates a box; nil if libcrypto has no Poly1305, or if the lengths are not 32 and 16.
  package init?(key: ArraySlice<UInt8>, noncePrefix: ArraySlice<UInt8>) {
    guard key.count == 32, noncePrefix.count == 16, let box = clastro_secretbox_new([UInt8](key), [UInt8](noncePrefix))
    else { return nil }
    self.box = box
  }

  deinit { clastro_secretbox_free(box) }

  /// Seals a message into a buffer that needs 16 more bytes than the message. The message may start at the buffer's
  /// 17th byte. The counter completes the nonce, in big-endian order. Returns whether it succeeded.
  package mutating func seal(
    _ counter: UInt64, _ message: UnsafeBufferPointer<UInt8>, into out: UnsafeMutableBufferPointer<UInt8>
  ) -> Bool {
    guard out.count >= message.count + 16, let start = out.baseAddress else { return false }
    return withNonce(counter) { nonce in
      // An empty message may have no address.
      clastro_secretbox_seal(box, nonce, message.baseAddress ?? UnsafePointer(start + 16), message.count, start)
    }
  }

  /// Opens a sealed message into a buffer that needs 16 bytes less than the sealed message. The output is valid only
  /// for `.opened`.
  package mutating func open(
    _ counter: UInt64, _ sealed: UnsafeBufferPointer<UInt8>, into out: UnsafeMutableBufferPointer<UInt8>
  ) -> Opening {
    guard sealed.count >= 16, let source = sealed.baseAddress else { return .forged }
    guard out.count >= sealed.count - 16 else { return .failed }
    // An empty buffer may have no address.
    let start = out.baseAddress ?? UnsafeMutablePointer(mutating: source)
    let answer = withNonce(counter) { nonce in clastro_secretbox_open(box, nonce, source, sealed.count, start) }
    return answer == CLASTRO_OPENED ? .opened : answer == CLASTRO_FORGED ? .forged : .failed
  }

  private func withNonce<Answer>(_ counter: UInt64, _ body: (UnsafePointer<UInt8>) -> Answer) -> Answer {
    withUnsafePointer(to: counter.bigEndian) { counter in
      counter.withMemoryRebound(to: UInt8.self, capacity: 8, body)
    }
  }
}
