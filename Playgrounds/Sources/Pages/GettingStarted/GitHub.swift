// SPDX-License-Identifier: Apache-2.0
// The URL is a valid literal, so unwrapping it cannot fail.
// swift-format-ignore-file: NeverForceUnwrap

// sample: Sources/Hello/GitHub.swift
import FoundationEssentials
import Lastro

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

extension HTTPResource where Model == User, APIError == GitHubError {
  static func user(_ login: String) -> Self { .init(GitHub.user(login: login)) }
}

extension HTTPResource where Model == [Repository], APIError == GitHubError {
  static func repositories(of owner: String, perPage: Int = 30) -> Self {
    .init(GitHub.repositories(owner: owner, perPage: perPage))
  }
}
// end
