// SPDX-License-Identifier: Apache-2.0

import ConformanceData
import FoundationEssentials
import LastroWire
import Testing

@Suite("Addresses in the format of SOCKS 5 and Shadowsocks")
struct SOCKS5AddressTests {
  private static let addresses: [(SOCKS5Address, [UInt8])] = [
    (.init(host: .ipv4([127, 0, 0, 1]), port: 80), [1, 127, 0, 0, 1, 0, 80]),
    (.init(host: .ipv6(Array(1...16)), port: 443), [4] + Array(1...16) + [1, 187]),
    (.init(host: .name("a.test"), port: 65_535), [3, 6] + Array("a.test".utf8) + [255, 255]),
    (
      .init(host: .name(String(repeating: "a", count: 255)), port: 1),
      [3, 255] + [UInt8](repeating: 0x61, count: 255) + [0, 1]
    ),
  ]

  @Test("A written address is read back with what follows, and every prefix of it is incomplete")
  func roundTrip() throws {
    for (address, bytes) in Self.addresses {
      #expect(try address.bytes() == bytes)
      #expect(SOCKS5Address.first(of: bytes) == .address(address, length: bytes.count))
      #expect(SOCKS5Address.first(of: bytes + [9, 9]) == .address(address, length: bytes.count))
      #expect(SOCKS5Address.first(of: ([7] + bytes)[1...]) == .address(address, length: bytes.count))
      for count in 0..<bytes.count { #expect(SOCKS5Address.first(of: bytes.prefix(count)) == .incomplete) }
    }
  }

  @Test("The vectors' addresses are read and written back")
  func vectors() throws {
    struct Vectors: Decodable {
      struct Address: Decodable {
        var host: String
        var port: UInt16
        var bytes: String
      }
      var addresses: [Address]
    }
    let vectors = try JSONDecoder().decode(
      Vectors.self, from: ConformanceData.file("transports/shadowsocks-vectors.json"))
    #expect(vectors.addresses.count == 5)
    for vector in vectors.addresses {
      let digits = Array(vector.bytes.utf8)
      let bytes = try stride(from: 0, to: digits.count, by: 2).map {
        try #require(UInt8(String(decoding: digits[$0..<$0 + 2], as: UTF8.self), radix: 16))
      }
      guard case .address(let address, let length) = SOCKS5Address.first(of: bytes) else {
        Issue.record("\(vector.host) is not accepted")
        continue
      }
      #expect(length == bytes.count && address.port == vector.port)
      #expect(try address.bytes() == bytes)
      switch address.host {
      case .name(let name): #expect(name == vector.host)
      case .ipv4(let bytes): #expect(bytes.map(String.init).joined(separator: ".") == vector.host)
      case .ipv6(let bytes):
        #expect(vector.host == "2001:db8::1")
        #expect(bytes == [0x20, 0x01, 0x0D, 0xB8] + [UInt8](repeating: 0, count: 11) + [1])
      }
    }
  }

  @Test(
    "Invalid addresses are refused",
    arguments: [[0], [2, 1], [5], [255], [3, 0], [3, 1, 0xFF, 0, 1]] as [[UInt8]])
  func invalid(bytes: [UInt8]) { #expect(SOCKS5Address.first(of: bytes) == .invalid) }

  @Test("Addresses without a wire format are refused")
  func unwritable() {
    for host in [
      SOCKS5Address.Host.name(""), .name(String(repeating: "a", count: 256)), .ipv4([1, 2, 3]), .ipv6([1]),
    ] {
      #expect(throws: SOCKS5Failure.self) { try SOCKS5Address(host: host, port: 1).bytes() }
    }
  }
}
