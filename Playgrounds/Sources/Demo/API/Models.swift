// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

struct User: Decodable, Sendable, Equatable {
  let login: String
  let name: String
  let publicRepos: Int
}

struct Repository: Decodable, Sendable, Equatable {
  let fullName: String
  let stargazersCount: Int
}

struct NewIssue: Encodable, Sendable {
  let title: String
  let labels: [String]
}

struct Issue: Decodable, Sendable, Equatable {
  let number: Int
  let title: String
  let labels: [String]
  let state: String
}

struct Flaky: Decodable, Sendable {
  let key: String
  let attempts: Int
}

struct Secret: Decodable, Sendable {
  let secret: String
}

/// The API's error model, which it sends with a status outside 200–299.
struct ForgeError: Error, Decodable, Equatable {
  struct Field: Decodable, Equatable {
    let field: String
    let code: String
  }

  let message: String
  let errors: [Field]?
}

extension JSONDecoder {
  /// The decoder for the API. It converts names such as `public_repos` to `publicRepos`.
  static let forge = {
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    return decoder
  }()
}
