import Foundation
import Lastro
import LastroCurl

struct Repository: Decodable, Sendable { let name: String, forks: Int }
struct GitHubError: Error, Decodable, Sendable { let message: String }

enum GitHub: HTTPResourceEndpoint {
  case repository(owner: String, name: String)

  var path: String? {
    switch self {
    case .repository(let owner, let name): "repos/\(owner.pathSegment)/\(name.pathSegment)"
    }
  }
}

extension HTTPResource where Model == Repository, APIError == GitHubError {
  static func repository(_ owner: String, _ name: String) -> Self {
    .init(GitHub.repository(owner: owner, name: name))
  }
}

var configuration = StackConfiguration()
configuration.baseURL = ProcessInfo.processInfo.environment["GITHUB_API"] ?? "https://api.github.com"

do {
  let github = try CurlNetworkStack(configuration: configuration)
  let swift = try await github.fetch(.repository("swiftlang", "swift"))
  print(swift.value.name, "has", swift.value.forks, "forks; status", swift.response.status.code)
} catch {
  print(error)  // one line: what failed, where, and what to do
  exit(1)
}
