// SPDX-License-Identifier: Apache-2.0

import CLastroPrimitives
import FoundationEssentials
import LastroTunnels
import Testing

@Suite("obfs4: primitives against their vectors")
struct Obfs4PrimitivesTests {
  let vectors: Obfs4Vectors

  init() throws { vectors = try Obfs4Vectors.read() }

  @Test("SipHash-2-4 matches for every length up to 63 bytes")
  func sipHash() {
    for (count, output) in vectors.siphash_2_4.outputs.enumerated() {
      let message = (0..<count).map { UInt8($0) }
      var hash = Obfs4SipHash(key: vectors.siphash_2_4.key.bytes[...])
      let whole = count / 8 * 8
      for start in stride(from: 0, to: whole, by: 8) { hash.absorb(Obfs4SipHash.word(message[start..<start + 8])) }
      #expect(hash.finished(with: message[whole...]) == Obfs4SipHash.word(output.bytes[...]), "\(count) bytes")
    }
  }

  @Test("A seed's numbers come from one running hash, unlike the published text")
  func numbers() {
    for row in vectors.drbg {
      var numbers = Obfs4NumberStream(seed: row.seed.bytes[...])
      let blocks = row.blocks.map { _ in numbers.next().byteSwapped }
      #expect(blocks == row.blocks.map { Obfs4SipHash.word($0.bytes[...]) })
      #expect(blocks[1] != Obfs4SipHash.word(row.not_these_as_the_spec_text_has_it[1].bytes[...]))
      var masks = Obfs4NumberStream(seed: row.seed.bytes[...])
      #expect(row.length_masks.map { _ in masks.mask() } == row.length_masks)
    }
  }

  @Test("HSalsa20 matches")
  func hSalsa20() {
    for row in vectors.hsalsa20 {
      var output = [UInt8](repeating: 0, count: 32)
      clastro_hsalsa20(row.key.bytes, row.input.bytes, &output)
      #expect(output == row.output.bytes)
    }
  }

  @Test("The keystream of XSalsa20 is what a box adds to zeros")
  func keystream() throws {
    for row in vectors.xsalsa20_keystream {
      let stream = row.first_200_bytes.bytes
      let sealed = try seal(row.key.bytes, row.nonce.bytes, [UInt8](repeating: 0, count: stream.count - 32))
      #expect(sealed.dropFirst(16).elementsEqual(stream.dropFirst(32)))
    }
  }

  @Test("Poly1305 matches with one context for all vectors")
  func poly1305() throws {
    let zeros = [UInt8](repeating: 0, count: 32)
    let box = try #require(clastro_secretbox_new(zeros, zeros))
    defer { clastro_secretbox_free(box) }
    for row in vectors.poly1305 {
      var tag = [UInt8](repeating: 0, count: 16)
      #expect(clastro_poly1305(box, row.key.bytes, row.message.bytes, row.message.bytes.count, &tag))
      #expect(tag == row.tag.bytes)
    }
  }

  @Test("secretbox seals and opens")
  func secretbox() throws {
    for row in vectors.secretbox {
      let sealed = try seal(row.key.bytes, row.nonce.bytes, row.message.bytes)
      #expect(sealed == row.box_is_tag_then_ciphertext.bytes)
      let opened = try open(row.key.bytes, row.nonce.bytes, sealed)
      #expect(opened.0 == .opened)
      #expect(opened.1 == row.message.bytes)
    }
  }

  @Test("secretbox opens no altered box and writes none of its contents")
  func forgedSecretbox() throws {
    for row in vectors.secretbox_must_fail {
      let (answer, written) = try open(row.key.bytes, row.nonce.bytes, row.box.bytes)
      #expect(answer == .forged, "\(row.why)")
      #expect(written.allSatisfy { $0 == 0xaa }, "\(row.why)")
    }
  }

  @Test("secretbox seals in place at every length around block boundaries")
  func secretboxInPlace() throws {
    let key = [UInt8](repeating: 7, count: 32)
    let nonce = [UInt8](repeating: 9, count: 24)
    for count in 0...700 {
      let message = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
      let apart = try seal(key, nonce, message)
      var box = try Obfs4Secretbox.made(key, nonce)
      var space = [UInt8](repeating: 0, count: 16) + message
      let counter = Obfs4SipHash.word(nonce[16...]).byteSwapped
      let works = space.withUnsafeMutableBufferPointer { space in
        box.seal(counter, UnsafeBufferPointer(rebasing: space[16...]), into: space)
      }
      #expect(works && space == apart, "\(count) bytes")
    }
  }

  @Test("Elligator 2 maps any 32 bytes to a point")
  func forward() throws {
    for row in vectors.elligator2_forward {
      #expect(try Obfs4Primitives.point(ofRepresentative: row.representative.bytes) == row.public.bytes)
    }
  }

  @Test("Elligator 2 maps points back, except those without a representative")
  func inverse() throws {
    for row in vectors.elligator2_inverse {
      let found = try Obfs4Primitives.representative(of: row.public.bytes, tweak: row.tweak)
      #expect(found == row.representative?.bytes)
      // u = A = 486662 is a point of the twist, and no public key. Its representative maps to another point.
      if let found, !row.public.bytes.starts(with: [0x06, 0x6d, 0x07, 0]) {
        #expect(try Obfs4Primitives.point(ofRepresentative: found) == row.public.bytes)
      }
    }
  }

  @Test("The low-order points are those of the vectors, and X25519 yields zero for each")
  func lowOrder() throws {
    let secret = vectors.ntor.x.bytes
    for row in vectors.low_order_points_montgomery {
      guard let point = row.u?.bytes else { continue }
      #expect(throws: Obfs4Failure.zeroSharedSecret) { try Obfs4Primitives.agreement(of: secret, with: point) }
    }
    for row in vectors.x25519_must_be_refused {
      #expect(throws: Obfs4Failure.zeroSharedSecret) {
        try Obfs4Primitives.agreement(of: secret, with: row.peer_public.bytes)
      }
    }
  }

  @Test("Of the points 0 to 255 and p − 237 to p + 18, only those of low order are refused, whatever the top bit is")
  func refusedPoints() throws {
    let secret = vectors.ntor.x.bytes
    for top in [0x00, 0x80] as [UInt8] {
      for isLarge in [false, true] {
        let refused = try (0...255 as ClosedRange<UInt8>).filter { first in
          var point = [UInt8](repeating: isLarge ? 0xFF : 0, count: 32)
          point[0] = first
          point[31] = top | (isLarge ? 0x7F : 0)
          do throws(Obfs4Failure) {
            _ = try Obfs4Primitives.agreement(of: secret, with: point)
            return false
          } catch {
            guard error == .zeroSharedSecret else { throw error }
            return true
          }
        }
        #expect(refused == (isLarge ? [0xEC, 0xED, 0xEE] : [0, 1]))
      }
    }
  }

  @Test("A key adds the low-order point of its lowest bits, and agrees on the clean key's secret")
  func dirtyKeys() throws {
    let peer = vectors.dirty_keys_montgomery.peer_secret.bytes
    for row in vectors.dirty_keys_montgomery.keys {
      let clean = try Obfs4Primitives.publicKey(of: row.secret.bytes)
      #expect(clean == row.clean_public.bytes)
      #expect(try Obfs4Primitives.sum(of: clean, lowOrder: row.index) == row.dirty_public.bytes)
      let pair = try Obfs4KeyPair(secret: row.secret.bytes, tweak: row.tweak)
      #expect(pair?.representative == row.representative?.bytes)
      if let pair { #expect(pair.publicKey == row.dirty_public.bytes) }
      let shared = try Obfs4Primitives.agreement(of: peer, with: row.dirty_public.bytes)
      #expect(try shared == Obfs4Primitives.agreement(of: peer, with: clean))
    }
  }

  @Test("A key of obfs4proxy is one of two possible keys, because the sign of v is unknown")
  func referenceKeys() throws {
    for row in vectors.dirty_keys_obfs4proxy.keys {
      let clean = try Obfs4Primitives.publicKey(of: row.secret.bytes)
      let index = row.secret.bytes[0] & 7
      let sums = try [index, (8 - index) & 7].map { try Obfs4Primitives.sum(of: clean, lowOrder: $0) }
      #expect(sums.contains(row.public.bytes))
      #expect(
        try Obfs4Primitives.representative(of: row.public.bytes, tweak: row.tweak) == row.representative?.bytes)
    }
  }

  @Test("A certificate consists of the node ID and the key")
  func certificates() throws {
    for row in vectors.cert {
      guard let data = Data(base64Encoded: row.cert + "==") else {
        #expect(row.error != nil)
        continue
      }
      let identity = Obfs4Identity(certificate: [UInt8](data))
      #expect(identity?.nodeID == row.node_id?.bytes, "\(row.error ?? row.cert)")
      #expect(identity?.publicKey == row.public_key?.bytes)
      if let identity { #expect(identity.certificate == [UInt8](data)) }
    }
    #expect(Obfs4Identity(nodeID: [], publicKey: [UInt8](repeating: 0, count: 52)) == nil)
  }

  @Test("Both sides of ntor agree on the key and on the proof")
  func ntor() throws {
    let ntor = vectors.ntor
    #expect(try vectors.serverIdentity.identity == vectors.identity)
    #expect(try Obfs4Primitives.point(ofRepresentative: ntor.X_representative.bytes) == ntor.X.bytes)
    #expect(try Obfs4Primitives.point(ofRepresentative: ntor.Y_representative.bytes) == ntor.Y.bytes)
    #expect(try Obfs4Primitives.agreement(of: ntor.x.bytes, with: ntor.Y.bytes) == ntor.exp_Y_x.bytes)
    #expect(try Obfs4Primitives.agreement(of: ntor.y.bytes, with: ntor.X.bytes) == ntor.exp_Y_x.bytes)
    #expect(try Obfs4Primitives.agreement(of: ntor.x.bytes, with: ntor.B.bytes) == ntor.exp_B_x.bytes)
    #expect(try Obfs4Primitives.agreement(of: ntor.b.bytes, with: ntor.X.bytes) == ntor.exp_B_x.bytes)
    let agreement = try Obfs4Agreement(
      ephemeral: ntor.exp_Y_x.bytes, fixed: ntor.exp_B_x.bytes, client: ntor.X.bytes, server: ntor.Y.bytes,
      identity: vectors.identity)
    #expect(agreement.keySeed == ntor.key_seed.bytes)
    #expect(agreement.authentication == ntor.auth.bytes)
    let keys = try agreement.keys()
    #expect(keys == vectors.kdf.okm.bytes)
    // The client's half comes first; the published text has it second.
    #expect(keys == vectors.kdf.client_to_server.bytes + vectors.kdf.server_to_client.bytes)
  }

  @Test("libcrypto's error queue is unchanged after any refusal")
  func errorQueue() throws {
    let zeros = [UInt8](repeating: 0, count: 32)
    #expect(throws: Obfs4Failure.zeroSharedSecret) { try Obfs4Primitives.agreement(of: zeros, with: zeros) }
    #expect(try Obfs4Primitives.representative(of: zeros, tweak: 0) == nil)
    // Adding the point of order 2, which has u = 0 as well, would divide by the difference of the two, which is zero.
    #expect(throws: Obfs4Failure.cryptoUnavailable) { try Obfs4Primitives.sum(of: zeros, lowOrder: 4) }
    #expect(clastro_has_errors() == false)
  }

  @Test("Values of another length are refused", arguments: [0, 31, 33])
  func lengths(count: Int) throws {
    let bytes = [UInt8](repeating: 1, count: count)
    let right = [UInt8](repeating: 9, count: 32)
    #expect(throws: Obfs4Failure.cryptoUnavailable) { try Obfs4Primitives.publicKey(of: bytes) }
    #expect(throws: Obfs4Failure.cryptoUnavailable) { try Obfs4Primitives.agreement(of: bytes, with: right) }
    #expect(throws: Obfs4Failure.cryptoUnavailable) { try Obfs4Primitives.agreement(of: right, with: bytes) }
    #expect(throws: Obfs4Failure.cryptoUnavailable) { try Obfs4Primitives.point(ofRepresentative: bytes) }
    #expect(throws: Obfs4Failure.cryptoUnavailable) { try Obfs4Primitives.representative(of: bytes, tweak: 0) }
    #expect(throws: Obfs4Failure.cryptoUnavailable) { try Obfs4Primitives.sum(of: bytes, lowOrder: 0) }
    #expect(try Obfs4ServerIdentity(nodeID: [UInt8](repeating: 0, count: 20), secret: bytes) == nil)
    #expect(Obfs4Primitives.areEqual(bytes, right) == false)
    #expect(throws: Obfs4Failure.cryptoUnavailable) { _ = try Obfs4Secretbox.made(bytes, right) }
  }

  private func seal(_ key: [UInt8], _ nonce: [UInt8], _ message: [UInt8]) throws -> [UInt8] {
    var box = try Obfs4Secretbox.made(key, nonce)
    let counter = Obfs4SipHash.word(nonce[16...]).byteSwapped
    var sealed = [UInt8](repeating: 0, count: message.count + 16)
    let works = message.withUnsafeBufferPointer { message in
      sealed.withUnsafeMutableBufferPointer { box.seal(counter, message, into: $0) }
    }
    try #require(works)
    return sealed
  }

  private func open(
    _ key: [UInt8], _ nonce: [UInt8], _ sealed: [UInt8]
  ) throws -> (Obfs4Secretbox.Opening, [UInt8]) {
    var box = try Obfs4Secretbox.made(key, nonce)
    let counter = Obfs4SipHash.word(nonce[16...]).byteSwapped
    var opened = [UInt8](repeating: 0xaa, count: max(0, sealed.count - 16))
    let answer = sealed.withUnsafeBufferPointer { sealed in
      opened.withUnsafeMutableBufferPointer { box.open(counter, sealed, into: $0) }
    }
    return (answer, opened)
  }
}

extension Obfs4Secretbox {
  static func made(_ key: [UInt8], _ nonce: [UInt8]) throws -> Obfs4Secretbox {
    guard let box = Obfs4Secretbox(key: key[...], noncePrefix: nonce[..<16]) else {
      throw Obfs4Failure.cryptoUnavailable
    }
    return box
  }
}
