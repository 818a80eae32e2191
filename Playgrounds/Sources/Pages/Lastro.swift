// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroCurl
import LastroTesting

private func first(_ url: String) async throws {
  // sample: first
  struct Repository: Decodable, Sendable { let name: String, forks: Int }
  struct GitHubError: Error, Decodable, Sendable { let message: String }

  let github = try CurlNetworkStack(baseURL: url, interceptors: [.retry])  // such as "https://api.github.com"
  let swift = try await github.fetch(.get("/repos/apple/swift", as: Repository.self, or: GitHubError.self))
  print(swift.value.name, "has", swift.value.forks, "forks; status", swift.response.status.code)
  // end
}

extension Page {
  static let lastro = Page("Lastro") { stage in
    let server = try LoopbackServer.http { _ in .json(#"{"name":"swift","forks":10400}"#) }
    defer { server.stop() }
    try await stage.prints("first") { try await first(server.baseURL) }
    stage.check("the path is appended to the base URL", server.requests.map(\.target) == ["/repos/apple/swift"])
  }
}
