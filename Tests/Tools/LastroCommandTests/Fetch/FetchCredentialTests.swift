// SPDX-License-Identifier: Apache-2.0

import Foundation
import LastroTesting
import PeerSupport
import TestSupport
import Testing

@Suite("lastro: header fields with credentials", .timeLimit(.minutes(15)))
struct FetchCredentialTests {
  private static func flags(_ given: CredentialCase, _ user: String) -> [String] {
    given.lines(of: user).flatMap { ["-H", "\($0.name): \($0.value)"] }
  }

  @Test("--cache serves no response to another user's run, and says that it stores none", arguments: CredentialCase.all)
  func cached(given: CredentialCase) async throws {
    let directory = try PeerDirectory()
    let server = try LoopbackServer.http { request in
      .text("for \(request.head[given.name] ?? "anyone")").adding("Cache-Control", "max-age=600")
    }
    let fetch = ["fetch", "--cache", directory.file("cache"), server.baseURL]
    let told = try await Lastro.run(fetch + Self.flags(given, "ann") + ["--report"])
    #expect(told.status == 0 && !told.text.contains("stored"), "\(told.text)")
    let bob = try await Lastro.run(fetch + Self.flags(given, "bob"))
    #expect(bob.text == "for \(given.secret(of: "bob"))")
    #expect(try await Lastro.run(fetch).text == "for anyone")
    #expect(server.requests.count == 3)
  }

  @Test("--report masks the secrets in URLs, and -w writes the URL as it is")
  func reported() async throws {
    let server = try LoopbackServer.http { request in
      request.pathSegments.first == "b"
        ? .text("fine") : LoopbackResponse(status: 302).adding("Location", "/b?token=swordfish&page=2")
    }
    let url = server.baseURL + "/a?api_key=swordfish"
    for flags in [["--report"], ["-w", "%{json}", "-o", "/dev/null"]] {
      let told = try await Lastro.run(["fetch", url] + flags)
      #expect(told.text.contains("/b?token=***&page=2") && !told.text.contains("swordfish"), "\(told.text)")
    }
    let refused = try await Lastro.run(["fetch", "--report", "ftp://h/?token=swordfish#id_token=swordfish"])
    #expect(refused.text.contains("?token=***#id_token=***") && !refused.text.contains("swordfish"), "\(refused.text)")
    let written = try await Lastro.run(["fetch", "-w", "%{url_effective}", "-o", "/dev/null", url])
    #expect(written.text == server.baseURL + "/b?token=swordfish&page=2")
  }

  @Test("No field with credentials follows a redirect to another server, and -v masks it")
  func redirected() async throws {
    let target = try LoopbackServer.http { _ in .text("fine") }
    let server = try LoopbackServer.http { _ in
      LoopbackResponse(status: 302).adding("Location", target.baseURL + "/elsewhere")
    }
    // A single field of each name.
    let cases = CredentialCase.all.reduce(into: [String: CredentialCase]()) { $0[$1.name.lowercased()] = $1 }.values
    let flags = cases.flatMap { given in ["-H", "\(given.name): \(given.secret(of: "ann"))"] }
    let result = try await Lastro.run(["fetch", "-v", server.baseURL] + flags)
    #expect(result.status == 0, "\(result.errors)")
    let (first, second) = (try #require(server.requests.first), try #require(target.requests.first))
    for given in cases {
      #expect(first.head[given.name] == given.secret(of: "ann"))
      #expect(second.head[given.name] == nil, "\(given.name) was sent to another server")
    }
    #expect(!result.errors.contains("swordfish") && !result.errors.contains("5word"))
  }
}
