// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro

/// The endpoints of the API. Each case has the values that its request needs.
enum Forge: HTTPResourceEndpoint {
  case user(String)
  case repositories(owner: String, perPage: Int)
  case repository(owner: String, name: String)
  case createIssue(owner: String, name: String, NewIssue)
  case archive(owner: String, name: String, bytes: Int)
  case flaky(key: String, failures: Int)
  case slow
  case secret(query: String?)

  var baseURL: URL { DemoServer.baseURL }

  var method: HTTPRequest.Method {
    switch self {
    case .createIssue: .post
    default: .get
    }
  }

  var path: String? {
    switch self {
    case .user(let login): "users/\(login.pathSegment)"
    case .repositories(let owner, _): "users/\(owner.pathSegment)/repos"
    case .repository(let owner, let name): "repos/\(owner.pathSegment)/\(name.pathSegment)"
    case .createIssue(let owner, let name, _): "repos/\(owner.pathSegment)/\(name.pathSegment)/issues"
    case .archive(let owner, let name, _): "repos/\(owner.pathSegment)/\(name.pathSegment)/archive"
    case .flaky(let key, _): "flaky/\(key.pathSegment)"
    case .slow: "slow"
    case .secret: "private"
    }
  }

  var queryItems: [URLQueryItem]? {
    switch self {
    case .repositories(_, let perPage): [URLQueryItem(name: "per_page", value: "\(perPage)")]
    case .archive(_, _, let bytes): [URLQueryItem(name: "bytes", value: "\(bytes)")]
    case .flaky(_, let failures): [URLQueryItem(name: "failures", value: "\(failures)")]
    case .secret(let query?): [URLQueryItem(name: "access_token", value: query)]
    default: nil
    }
  }

  var headers: RawHeaders? { [.accept: "application/json"] }

  func makeBody() throws -> RequestBody? {
    switch self {
    case .createIssue(_, _, let issue): try .json(issue)
    default: nil
    }
  }
}
