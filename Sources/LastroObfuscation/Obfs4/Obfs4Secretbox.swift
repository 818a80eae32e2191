// SPDX-License-Identifier: Apache-2.0
private import CLastroObfuscation

/// NaCl's secretbox with a key and the first 16 bytes of each nonce.
package struct Obfs4Secretbox: ~Copyable, @unchecked Sendable {
  // Sendable because a value has one owner, and what is behind the pointer has no other.
  private let box: OpaquePointer

  package enum Opening: Equatable, Sendable { case opened, forged, failed }

  /// nil where libcrypto has no Poly1305, or a length is another than 32 and 16.
  package init?(key: ArraySlice<UInt8>, noncePrefix: ArraySlice<UInt8>) {
    guard key.count == 32, noncePrefix.count == 16, let box = clastro_secretbox_new([UInt8](key), [UInt8](noncePrefix))
    else { return nil }
    self.box = box
  }

  deinit { clastro_secretbox_free(box) }

  /// Fills 16 bytes more than the message has; the message may begin at the 17th of them. The counter is the rest of
  /// the nonce, big endian.
  package mutating func seal(
    _ counter: UInt64, _ message: UnsafeBufferPointer<UInt8>, into out: UnsafeMutableBufferPointer<UInt8>
  ) -> Bool {
    guard out.count >= message.count + 16, let start = out.baseAddress else { return false }
    return withNonce(counter) { nonce in
      // An empty message may have no address.
      clastro_secretbox_seal(box, nonce, message.baseAddress ?? UnsafePointer(start + 16), message.count, start)
    }
  }

  /// Fills 16 bytes less than is sealed, and only if all was right.
  package mutating func open(
    _ counter: UInt64, _ sealed: UnsafeBufferPointer<UInt8>, into out: UnsafeMutableBufferPointer<UInt8>
  ) -> Opening {
    guard sealed.count >= 16, let source = sealed.baseAddress else { return .forged }
    guard out.count >= sealed.count - 16 else { return .failed }
    // Where nothing is written, there may be no address.
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
