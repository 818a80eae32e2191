// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroTesting
import TestSupport
import Testing

@testable import LastroEveryday

/// What is said of pages that are not followed, of operations that are not asked for, and of keys without a value, as
/// `PagesErrorTexts.txt` beside this file has it.
@Suite("Error texts of pages and operations", .timeLimit(.minutes(5)))
struct PagesErrorTextsTests {
  private static let file = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "PagesErrorTexts.txt")

  @Test("are those of the file; LASTRO_RENEW=1 writes it anew")
  func golden() async throws {
    let texts = try await Self.pages() + Self.operations()
    try expectGolden(texts.map { $0 + "\n" }.joined(), keptIn: Self.file)
  }

  private static func told(_ error: HTTPFetchError<any Error>) -> String {
    "\(error.stage.rawValue)/\(error.code): \(error.message)" + (error.hint.map { " (\($0))" } ?? "")
  }

  private static func pages() async throws -> [String] {
    var texts: [String] = []
    for (target, change) in [
      ("http://api.example.org/", { _ in }), ("https://other.example.org/", { _ in }), ("ftp://x", { _ in }),
      ("", { _ in }), ("?page=2", { $0.maximumPages = 1 }), ("?page=2", { $0.total = .zero }),
    ] as [(String, (inout PageOptions) -> Void)] {
      var options = PageOptions()
      change(&options)
      let transport = ScriptedTransport([.respond(status: .ok, headers: [.link: "<\(target)>; rel=next"])])
      let pages = TransportNetworkStack(transport).pages(
        RawHTTPResource.get("https://api.example.org/"), by: .link, options: options)
      do throws(HTTPFetchError<any Error>) {
        for try await _ in pages {}
      } catch {
        texts.append("HTTPFetchError | \(told(error))")
      }
    }
    return texts
  }

  private static func operations() async throws -> [String] {
    var texts: [String] = []
    for fields in [[:], [.location: "ftp://x"], [.location: "https://other.example.org/"]] as [HTTPFields] {
      let stack = TransportNetworkStack(ScriptedTransport([.answer(202, fields: fields)]))
      do throws(HTTPFetchError<any Error>) {
        _ = try await stack.begin(RawHTTPResource.get("https://api.example.org/"))
      } catch {
        texts.append("HTTPFetchError | \(told(error))")
      }
    }
    var options = OperationOptions()
    options.total = .zero
    do {
      _ = try await TransportNetworkStack(ScriptedTransport()).wait(
        for: OperationHandle(statusURL: "https://api.example.org/"), options: options
      ) { _, _ in OperationState<Int>.running() }
    } catch let error as HTTPFetchError<any Error> {
      texts.append("HTTPFetchError | \(told(error))")
    }
    return texts
  }
}
