// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Testing

@testable import LastroHTTP

@Suite("Home loops")
struct HomeLoopsTests {
  private static func key(_ scheme: String, _ authority: String) -> UInt64 {
    HomeLoops.key(ofOrigin: HTTPRequest(method: .get, scheme: scheme, authority: authority, path: "/"))
  }

  private static let keys = (0..<10_000).map { key("https", "host\($0).example") }

  @Test("A key and its loops are the same in every process")
  func stability() {
    let expected: [(String, String, UInt64, [(Int, Int)])] = [
      ("https", "api.example.com", 0xB5BF_CB4B_06EE_C837, [(0, 1), (0, 2), (52, 36)]),
      ("http", "127.0.0.1:8080", 0xE0B3_D781_BF1F_BE7B, [(1, 0), (1, 3), (23, 51)]),
      ("https", "bücher.example", 0x5368_3A64_6FD3_4C27, [(0, 1), (2, 3), (21, 2)]),
    ]
    for (scheme, authority, key, loops) in expected {
      #expect(Self.key(scheme, authority) == key, "\(authority)")
      for (count, expected) in zip([2, 4, 64], loops) {
        let found = HomeLoops(of: key, among: count)
        #expect((found.home, found.second) == expected, "\(authority), \(count) loops")
      }
    }
  }

  @Test("Homes and second choices are distributed evenly", arguments: [2, 3, 4, 8])
  func spread(count: Int) {
    var homes = Array(repeating: 0, count: count), seconds = homes
    for key in Self.keys {
      let loops = HomeLoops(of: key, among: count)
      #expect(loops.home != loops.second)
      homes[loops.home] += 1
      seconds[loops.second] += 1
    }
    for found in homes + seconds {
      #expect(abs(found * count - Self.keys.count) < Self.keys.count / 20, "\(homes), \(seconds)")
    }
  }

  @Test("With one loop fewer only that loop's keys move, and they move to their second choice", arguments: 2...16)
  func removal(count: Int) {
    for key in Self.keys.prefix(2_000) {
      let before = HomeLoops(of: key, among: count), after = HomeLoops(of: key, among: count - 1)
      #expect(after.home == (before.home == count - 1 ? before.second : before.home))
    }
  }

  @Test("A single loop is home and second choice")
  func single() {
    for key in Self.keys.prefix(100) {
      let loops = HomeLoops(of: key, among: 1)
      #expect(loops.home == 0 && loops.second == 0)
    }
  }

  @Test(
    "All spellings of an origin have the same key",
    arguments: [
      ("http", ["a.example", "A.Example", "a.example:80", "a.example:", "a.example."]),
      ("https", ["a.example:443", "a.example"]),
      ("https", ["bücher.example", "xn--bcher-kva.example", "BÜCHER.example:443"]),
      ("http", ["[::1]:8080", "[0:0:0::1]:8080"]),
    ])
  func spellings(scheme: String, authorities: [String]) {
    #expect(Set(authorities.map { Self.key(scheme, $0) }).count == 1)
  }

  @Test("Origins that differ in scheme, host or port have different keys, and so does a proxy")
  func differences() {
    var keys = [Self.key("http", "a:8443"), Self.key("https", "a:8443"), Self.key("https", "b:8443")]
    keys += [Self.key("https", "a:8444"), HomeLoops.key(ofProxy: "http://a:8443"), Self.key("http", "")]
    #expect(Set(keys).count == keys.count)
  }
}
