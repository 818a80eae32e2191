// SPDX-License-Identifier: Apache-2.0

import Foundation
import Lastro
import LastroCurl
import LastroTesting

private func recorded(_ file: String, _ github: CurlNetworkStack) async throws -> (login: String, isRecording: Bool) {
  // sample: cassette
  let cassette = try Cassette(file) { github.engine }  // such as "Fixtures/octocat.har"
  let stack = TransportNetworkStack(transport: cassette)

  let login = try await stack.fetch(.user("octocat")).value.login
  // end
  return (login, cassette.isRecording)
}

private func other(_ file: String, _ github: CurlNetworkStack) async throws {
  let stack = TransportNetworkStack(transport: try Cassette(file) { github.engine })
  do throws(HTTPFetchError<GitHubError>) {
    _ = try await stack.fetch(.user("apple"))
  } catch {
    print("\(error.code)")
  }
}

private func choices(_ file: String, _ github: CurlNetworkStack) throws -> Cassette {
  // sample: choices
  let cassette = try Cassette(
    file, expiresAfterDays: 30, ignoresQueryOrder: true, comparesBodies: false, masking: ["X-Customer", "iban"]
  ) { github.engine }
  // end
  return cassette
}

extension Page {
  static let cassettes = Page("Cassettes") { stage in
    // The page records where CI runs it, too.
    unsetenv("CI")
    let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).har").path
    defer { try? FileManager.default.removeItem(atPath: file) }
    let github = try stage.github()
    let first = try await recorded(file, github)
    stage.check("the first run records", first == ("octocat", true) && stage.server.requests.count == 1)
    let second = try await recorded(file, github)
    stage.check("the second run sends nothing", second == ("octocat", false) && stage.server.requests.count == 1)
    try await stage.prints("not recorded") { try await other(file, github) }
    stage.check("the file has not expired", try choices(file, github).ageInDays == 0)
  }
}
