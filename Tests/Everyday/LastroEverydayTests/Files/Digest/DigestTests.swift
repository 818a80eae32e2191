// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroSupport
import TestSupport
import Testing

@testable import LastroEveryday

@Suite("Digests of downloads", .timeLimit(.minutes(15)))
struct DigestTests {
  private static func field(_ algorithm: HashAlgorithm, of data: Data) throws -> String {
    DigestField.field(Digest(algorithm: algorithm, value: try MessageDigest(of: data, algorithm)))
  }

  private static func words(_ operation: () async throws -> DownloadedFile) async -> String {
    do {
      return try await operation().verified.joined()
    } catch let error as HTTPFetchError<any Error> {
      return error.words
    } catch {
      return "\(error)"
    }
  }

  @Test(
    "The server's digest of the whole is verified, also after a resume in another process",
    arguments: [HashAlgorithm.sha256, .sha512])
  func reprDigest(algorithm: HashAlgorithm) async throws {
    let origin = RangeOrigin(bytes: 10_000, [.cut(after: 6_000)])
    origin.add([.reprDigest: try Self.field(algorithm, of: origin.content)])
    let files = SimulatedFiles()
    _ = await Self.words { try await origin.download(to: "/d/file", in: files) { $0.retries = .maxRetries(0) } }
    files.restart(afterLossOfPower: true)
    let file = try await origin.download(to: "/d/file", in: files)
    #expect(file.resumedFrom == 6_000 && file.verified.count == 1)
    #expect(file.verified.first?.hasPrefix(algorithm.rawValue) == true)
  }

  @Test("Bytes with another digest are removed and not placed as a file")
  func mismatch() async throws {
    let origin = RangeOrigin(bytes: 10_000)
    origin.add([.reprDigest: try Self.field(.sha256, of: Data("other".utf8))])
    let files = SimulatedFiles()
    #expect(await Self.words { try await origin.download(to: "/d/file", in: files) } == "response/digest_mismatch")
    #expect(files.names.isEmpty)
  }

  @Test("A byte corrupted on disk is detected, also among the bytes of an earlier process")
  func corruption() async throws {
    let origin = RangeOrigin(bytes: 10_000, [.cut(after: 6_000)])
    origin.add([.reprDigest: try Self.field(.sha256, of: origin.content)])
    let files = SimulatedFiles()
    _ = await Self.words { try await origin.download(to: "/d/file", in: files) { $0.retries = .maxRetries(0) } }
    files.state.withLock { state in
      guard let number = state.names["/d/file.part"] else { return }
      state.contents[number]?.now[17] ^= 1
    }
    #expect(await Self.words { try await origin.download(to: "/d/file", in: files) } == "response/digest_mismatch")
  }

  @Test("The caller's digest takes precedence over the server's")
  func expected() async throws {
    let origin = RangeOrigin(bytes: 10_000)
    origin.add([.reprDigest: try Self.field(.sha256, of: Data("other".utf8))])
    let hash = try MessageDigest(of: origin.content, .sha512).hexadecimal
    let file = try await origin.download(to: "/d/file", in: SimulatedFiles()) { $0.sha512 = hash.uppercased() }
    #expect(file.verified == ["SHA-512 \(hash)"])
    let wrong = String(repeating: "0", count: 64)
    let words = await Self.words {
      try await origin.download(to: "/d/file", in: SimulatedFiles()) { $0.sha256 = wrong }
    }
    #expect(words == "response/digest_mismatch")
  }

  @Test("The digest of a message is verified before the file is complete")
  func contentDigest() async throws {
    let origin = RangeOrigin(bytes: 10_000, [.cut(after: 6_000)])
    let files = SimulatedFiles()
    _ = await Self.words { try await origin.download(to: "/d/file", in: files) { $0.retries = .maxRetries(0) } }
    // `Content-Digest` covers the part, not the whole (RFC 9530 §2).
    origin.add([.contentDigest: try Self.field(.sha256, of: origin.content)])
    for _ in 0..<2 {
      #expect(await Self.words { try await origin.download(to: "/d/file", in: files) } == "response/digest_mismatch")
      // A download whose digest does not match is deleted, not resumed.
      #expect(files.names.isEmpty)
      origin.add([.contentDigest: try Self.field(.sha256, of: Data("other".utf8))])
    }
    let other = RangeOrigin(bytes: 10_000)
    other.add([.contentDigest: try Self.field(.sha256, of: other.content)])
    #expect(await Self.words { try await other.download(to: "/d/other", in: files) } == "")
  }

  @Test(
    "Insecure algorithms, values of a wrong length and malformed fields prove nothing",
    arguments: [
      ("md5=:HUXZLQLMuI/KZ5KDcJPcOA==:, sha=:AAAA:", 0), ("sha-256=:AAAA:", 0), ("sha-256=AAAA", 0), ("sha-256", 0),
      ("sha-256=:X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=:", 1),
      ("md5=:AAAA:, sha-256=:X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=:;x=1", 1),
      ("sha-256=:X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=:,", 0),
      ("SHA-256=:X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=:", 0), ("", 0),
    ])
  func fields(field: String, count: Int) { #expect(DigestField.digests(field).count == count) }
}
