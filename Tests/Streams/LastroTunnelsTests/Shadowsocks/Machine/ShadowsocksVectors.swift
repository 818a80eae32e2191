// SPDX-License-Identifier: Apache-2.0

import ConformanceData
import FoundationEssentials
import LastroTunnels
import Testing

/// The contents of `shadowsocks-vectors.json`. A shadowsocks-libev confirmed the values that two sides exchange.
struct ShadowsocksVectors: Decodable, Sendable {
  struct Password: Decodable, Sendable {
    let password_utf8, key16, key32: Hex
    let password: String
  }

  struct Subkey: Decodable, Sendable {
    let key, salt, subkey: Hex
  }

  struct Nonce: Decodable, Sendable {
    let operation: UInt128
    let nonce: Hex
  }

  struct Chunk: Decodable, Sendable {
    let payload_length: Int
    let payload: String
    let first_nonce: UInt64
    let sealed_length: Hex
    let sealed_payload: Hex?
    let chunk_sha256: Hex

    var bytes: [UInt8] {
      get throws {
        guard payload.hasPrefix("det(") else { return try Hex(digits: payload).bytes }
        return try Obfs4Vectors.repeatable("most", payload_length)
      }
    }
  }

  struct Case: Decodable, Sendable {
    let why: String
    let bytes: Hex
  }

  struct Stream: Decodable, Sendable, CustomTestStringConvertible {
    let method, password, target: String
    let key, salt, subkey: Hex
    let chunks: [Chunk]
    let last_of_these, client_stream_sha256: Hex
    let operations, client_stream_length: Int
    let address_in_a_chunk_of_its_own: Hex
    let server_salt, server_stream: Hex
    let server_says: String
    let server_streams_to_refuse, server_streams_cut: [Case]

    var testDescription: String { method }

    var shadowsocksKey: ShadowsocksKey {
      get throws {
        let known = try #require(ShadowsocksServer.Method(rawValue: method))
        return try ShadowsocksKey(password: Array(password.utf8), method: known)
      }
    }
  }

  let bytes_to_key: [Password]
  let hkdf_sha1_ss_subkey: [Subkey]
  let nonces: [Nonce]
  let streams: [Stream]

  static let path = "transports/shadowsocks-vectors.json"

  static func read() throws -> Self {
    try JSONDecoder().decode(Self.self, from: ConformanceData.file(path))
  }
}

extension Hex {
  init(digits: String) throws {
    self = try JSONDecoder().decode(Self.self, from: Data("\"\(digits)\"".utf8))
  }
}

@Suite("Shadowsocks: file of vectors")
struct ShadowsocksVectorFileTests {
  @Test("Every key of the file is read by a test")
  func keys() throws {
    // `about` describes the file, and `addresses` and `uris` are read by the tests of servers and addresses.
    #expect(
      try VectorNames.unread(in: ShadowsocksVectors.path, by: ShadowsocksVectors.read()) == [
        "about", "addresses", "uris",
      ])
  }
}
