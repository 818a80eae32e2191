// SPDX-License-Identifier: Apache-2.0

import ConformanceData
import FoundationEssentials
import Lastro
import LastroTunnels
import Testing

/// Bytes that are written as hexadecimal digits.
struct Hex: Decodable, Sendable {
  let bytes: [UInt8]

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  init(from decoder: any Decoder) throws {
    let digits = [UInt8](try decoder.singleValueContainer().decode(String.self).utf8)
    bytes = try stride(from: 0, to: digits.count, by: 2).map { start in
      try #require(UInt8(String(decoding: digits[start..<start + 2], as: UTF8.self), radix: 16))
    }
  }
}

/// The contents of `obfs4-vectors.json`. An obfs4proxy confirmed the values that two sides exchange.
struct Obfs4Vectors: Decodable, Sendable {
  struct SipHash: Decodable, Sendable {
    let key: Hex
    let outputs: [Hex]
  }

  struct Numbers: Decodable, Sendable {
    let seed: Hex
    let blocks: [Hex]
    let not_these_as_the_spec_text_has_it: [Hex]
    let length_masks: [UInt16]
  }

  struct HSalsa20: Decodable, Sendable {
    let key, input, output: Hex
  }

  struct Keystream: Decodable, Sendable {
    let key, nonce, first_200_bytes: Hex
  }

  struct Poly1305: Decodable, Sendable {
    let key, message, tag: Hex
  }

  struct Secretbox: Decodable, Sendable {
    let key, nonce, message, box_is_tag_then_ciphertext: Hex
  }

  struct WrongSecretbox: Decodable, Sendable {
    let why: String
    let key, nonce, box: Hex
  }

  struct Forward: Decodable, Sendable {
    let representative: Hex
    let `public`: Hex
  }

  struct Inverse: Decodable, Sendable {
    let `public`: Hex
    let tweak: UInt8
    let representative: Hex?
  }

  struct LowOrder: Decodable, Sendable {
    let index: UInt8
    let u, v: Hex?
  }

  struct DirtyKeys: Decodable, Sendable {
    struct Key: Decodable, Sendable {
      let secret: Hex
      let index: UInt8
      let clean_public, dirty_public: Hex
      let tweak: UInt8
      let representative: Hex?
    }

    let peer_secret: Hex
    let keys: [Key]
  }

  struct ReferenceKeys: Decodable, Sendable {
    struct Key: Decodable, Sendable {
      let secret: Hex
      let tweak: UInt8
      let `public`: Hex
      let representative: Hex?
    }

    let keys: [Key]
  }

  struct Refused: Decodable, Sendable {
    let peer_public: Hex
  }

  struct Certificate: Decodable, Sendable {
    let cert: String
    let node_id, public_key: Hex?
    let error: String?
  }

  struct Ntor: Decodable, Sendable {
    let node_id, b, B, x, X, X_representative, y, Y, Y_representative: Hex
    let exp_Y_x, exp_B_x, key_seed, auth: Hex
  }

  struct Keys: Decodable, Sendable {
    struct Direction: Decodable, Sendable {
      let key, nonce_prefix, drbg_seed: Hex

      var bytes: [UInt8] { key.bytes + nonce_prefix.bytes + drbg_seed.bytes }
    }

    let key_seed, okm: Hex
    let client_to_server, server_to_client: Direction
  }

  struct Handshake: Decodable, Sendable {
    struct Longest: Decodable, Sendable {
      let sha256, mac: Hex
    }

    struct Case: Decodable, Sendable {
      let why: String
      let response: Hex
    }

    let epoch_hour: Int
    let client_padding, client_mark, client_hello: Hex
    let client_mac_by_hour: [String: Hex]
    let a_server_whose_clock_says: [String: String]
    let server_padding, server_mark, server_response: Hex
    let hello_lengths: Lengths
    let longest_response: Longest
    let responses_to_refuse: [Case]
  }

  struct Lengths: Decodable, Sendable {
    let least, most: Int
  }

  struct Frames: Decodable, Sendable {
    struct Frame: Decodable, Sendable {
      let type: UInt8
      let payload: Hex
      let padding: Int
      let box_length: Int
      let length_on_the_wire, frame: Hex
    }

    struct Cases: Decodable, Sendable {
      let cases: [Case]
    }

    struct Case: Decodable, Sendable {
      let why: String
      let bytes: Hex
    }

    let client_to_server, server_to_client: [Frame]
    let server_frames_to_refuse, server_frames_to_ignore: Cases
  }

  struct Session: Decodable, Sendable {
    let server_bytes_sha256, client_bytes_sha256: Hex
  }

  struct Table: Decodable, Sendable {
    let seed: Hex
    let from, to: Int
    let values: [Int]
    let probabilities: [Double]
  }

  struct Draws: Decodable, Sendable {
    let seed: Hex
    let int63: [UInt64]
    let intn_1_to_6, perm_10: [Int]
    let float64: [Double]
    let server_close_delay_intn_60: Int
  }

  struct Padding: Decodable, Sendable {
    struct Case: Decodable, Sendable {
      let tail, target: Int
      let padding_of_each_frame: [Int]
      let tail_afterwards: Int
    }

    let cases: [Case]
  }

  let siphash_2_4: SipHash
  let drbg: [Numbers]
  let hsalsa20: [HSalsa20]
  let xsalsa20_keystream: [Keystream]
  let poly1305: [Poly1305]
  let secretbox: [Secretbox]
  let secretbox_must_fail: [WrongSecretbox]
  let elligator2_forward: [Forward]
  let elligator2_inverse: [Inverse]
  let low_order_points_montgomery: [LowOrder]
  let dirty_keys_montgomery: DirtyKeys
  let dirty_keys_obfs4proxy: ReferenceKeys
  let x25519_must_be_refused: [Refused]
  let cert: [Certificate]
  let ntor: Ntor
  let kdf: Keys
  let handshake: Handshake
  let frames: Frames
  let session: Session
  let length_tables: [Table]
  let go_random_over_drbg: Draws
  let burst_padding: Padding

  static let path = "transports/obfs4-vectors.json"

  static func read() throws -> Obfs4Vectors {
    try JSONDecoder().decode(Obfs4Vectors.self, from: ConformanceData.file(path))
  }
}

extension Obfs4Vectors {
  /// Returns bytes that the vectors describe by a name and a count.
  static func repeatable(_ name: String, _ count: Int) throws -> [UInt8] {
    var bytes: [UInt8] = []
    for block in 0... where bytes.count < count {
      bytes += try Obfs4Primitives.sha256([UInt8]("\(name)/\(block)".utf8))
      if bytes.count >= count { break }
    }
    return [UInt8](bytes.prefix(count))
  }

  var identity: Obfs4Identity {
    get throws { try #require(Obfs4Identity(nodeID: ntor.node_id.bytes, publicKey: ntor.B.bytes)) }
  }

  var serverIdentity: Obfs4ServerIdentity {
    get throws { try #require(try Obfs4ServerIdentity(nodeID: ntor.node_id.bytes, secret: ntor.b.bytes)) }
  }

  var clientKeyPair: Obfs4KeyPair {
    Obfs4KeyPair(secret: ntor.x.bytes, publicKey: ntor.X.bytes, representative: ntor.X_representative.bytes)
  }

  var serverKeyPair: Obfs4KeyPair {
    Obfs4KeyPair(secret: ntor.y.bytes, publicKey: ntor.Y.bytes, representative: ntor.Y_representative.bytes)
  }

  /// Returns the client whose hello is in the vectors.
  func client() throws -> Obfs4ClientHandshake {
    let padding = handshake.client_padding.bytes
    let random = RandomSource.scripted([drawing(padding.count, from: 77...8128), padding])
    return try Obfs4ClientHandshake(
      to: identity, keyPair: clientKeyPair, hour: handshake.epoch_hour, random: random)
  }

  /// Returns the server whose response is in the vectors.
  func server(hour: Int? = nil, faults: Obfs4ServerFaults = []) throws -> Obfs4ServerHandshake {
    let padding = handshake.server_padding.bytes
    let random = RandomSource.scripted([padding])
    return Obfs4ServerHandshake(
      as: try serverIdentity, keyPair: serverKeyPair, hour: hour ?? handshake.epoch_hour,
      paddingLength: padding.count, faults: faults, random: random)
  }

  /// The bytes that the server of the vectors sends: the response and its frames.
  var serverBytes: [UInt8] { handshake.server_response.bytes + frames.server_to_client.flatMap(\.frame.bytes) }
}

/// Returns eight random bytes from which a number of a range is drawn.
func drawing(_ number: Int, from range: ClosedRange<Int>) -> [UInt8] {
  let word = UInt64(number - range.lowerBound + range.count)
  return (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) }
}

/// The names of the members of an object in a file.
struct VectorNames: Decodable {
  private struct AnyKey: CodingKey {
    let stringValue: String
    let intValue: Int? = nil
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  private let all: Set<String>

  init(from decoder: any Decoder) throws {
    all = Set(try decoder.container(keyedBy: AnyKey.self).allKeys.map(\.stringValue))
  }

  /// Returns the names in a file that a value read from it does not have.
  static func unread(in path: String, by value: Any) throws -> Set<String> {
    let read = Set(Mirror(reflecting: value).children.compactMap(\.label))
    return try JSONDecoder().decode(Self.self, from: ConformanceData.file(path)).all.subtracting(read)
  }
}

@Suite("obfs4: file of vectors")
struct Obfs4VectorFileTests {
  @Test("Every key of the file is read by a test")
  func keys() throws {
    // `about` describes the file, and `arguments` is read by the tests of servers' addresses.
    #expect(try VectorNames.unread(in: Obfs4Vectors.path, by: Obfs4Vectors.read()) == ["about", "arguments"])
  }
}
