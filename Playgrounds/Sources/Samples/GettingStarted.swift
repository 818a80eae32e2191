// SPDX-License-Identifier: Apache-2.0
// The address is a literal: there is nothing that could be missing.
// swift-format-ignore-file: NeverForceUnwrap

import FoundationEssentials
import Lastro
import LastroCurl

// sample: endpoints
enum GitHub: HTTPResourceEndpoint {
  case user(login: String)
  case repositories(owner: String, perPage: Int)

  var baseURL: URL { URL(string: "https://api.github.com")! }

  var path: String? {
    switch self {
    case .user(let login): "users/\(login.pathSegment)"
    case .repositories(let owner, _): "users/\(owner.pathSegment)/repos"
    }
  }

  var queryItems: [URLQueryItem]? {
    switch self {
    case .user: nil
    case .repositories(_, let perPage): [URLQueryItem(name: "per_page", value: "\(perPage)")]
    }
  }

  var headers: RawHeaders? { [.accept: "application/vnd.github+json"] }
}
// end

// sample: models
struct User: Decodable, Sendable {
  let login: String
  let name: String?
}

struct Repository: Decodable, Sendable {
  let name: String
  let forks: Int
}

struct GitHubError: Error, Decodable {
  let message: String
}
// end

// sample: calls
extension HTTPResource where Model == User, APIError == GitHubError {
  static func user(_ login: String) -> Self { .init(GitHub.user(login: login)) }
}

extension HTTPResource where Model == [Repository], APIError == GitHubError {
  static func repositories(of owner: String, perPage: Int = 30) -> Self {
    .init(GitHub.repositories(owner: owner, perPage: perPage))
  }
}
// end

// sample: feature
struct Profiles {
  let github: any HTTPNetworkStack

  func title(of login: String) async throws -> String {
    let user = try await github.fetch(.user(login))
    return user.value.name ?? user.value.login
  }
}
// end

func compose() throws -> Profiles {
  // sample: composition
  var policy = StackConfiguration()
  policy.interceptors = [RetryInterceptor(policy: .maxRetries(2))]
  policy.timeouts = try Timeouts(connect: .seconds(5), attempt: .seconds(10), idle: nil, total: .seconds(30))

  let profiles = Profiles(github: try CurlNetworkStack(configuration: policy))
  // end
  return profiles
}
