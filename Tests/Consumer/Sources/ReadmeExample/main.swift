import Foundation
import Lastro
import LastroCurl

struct Repository: Decodable, Sendable { let name: String, forks: Int }
struct GitHubError: Error, Decodable, Sendable { let message: String }

do {
  let api = ProcessInfo.processInfo.environment["GITHUB_API"] ?? "https://api.github.com"
  let github = try CurlNetworkStack(baseURL: api, interceptors: [.retry])
  let swift = try await github.fetch(.get("/repos/swiftlang/swift", as: Repository.self, or: GitHubError.self))
  print(swift.value.name, "has", swift.value.forks, "forks; status", swift.response.status.code)
} catch {
  print(error)  // one line: what failed, where, and what to do
  exit(1)
}
