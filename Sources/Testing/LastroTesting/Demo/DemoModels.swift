// SPDX-License-Identifier: Apache-2.0

/// The JSON models of the demo API on the server's side. Clients declare their own models.
enum DemoModels {
  struct User: Encodable {
    var login: String
    var id: Int
    var name: String
    var publicRepos: Int

    enum CodingKeys: String, CodingKey {
      case login, id, name
      case publicRepos = "public_repos"
    }
  }

  struct Repository: Encodable {
    var id: Int
    var name: String
    var fullName: String
    var owner: Owner
    var description: String?
    var isPrivate = false
    var stars: Int
    var forks: Int
    var createdAt: String

    enum CodingKeys: String, CodingKey {
      case id, name, owner, description, forks
      case fullName = "full_name"
      case isPrivate = "private"
      case stars = "stargazers_count"
      case createdAt = "created_at"
    }
  }

  struct Owner: Encodable {
    var login: String
    var id: Int
  }

  struct NewIssue: Decodable {
    var title: String?
    var body: String?
    var labels: [String]?
  }

  struct Issue: Encodable {
    var number: Int
    var title: String
    var body: String?
    var labels: [String]
    var state = "open"
  }

  struct Failure: Encodable {
    struct Detail: Encodable {
      var field: String
      var code: String
    }

    var message: String
    var documentationURL = "https://docs.example.com/rest"
    var errors: [Detail]?

    enum CodingKeys: String, CodingKey {
      case message, errors
      case documentationURL = "documentation_url"
    }
  }

  struct Flaky: Encodable {
    var key: String
    var attempts: Int
  }

  struct NewPayment: Decodable {
    var amount: Int
    var currency: String?
  }

  struct Payment: Encodable {
    var id: Int
    var amount: Int
    var currency: String
  }

  static let users = [
    User(login: "apple", id: 10_639_145, name: "Apple", publicRepos: 7),
    User(login: "swiftlang", id: 42_816_656, name: "Swift", publicRepos: 3),
    User(login: "octocat", id: 583_231, name: "The Octocat", publicRepos: 0),
  ]

  static let repositories: [Repository] = {
    let names = [
      ("apple", ["swift", "swift-nio", "swift-log", "swift-metrics", "swift-http-types", "swift-crypto", "pkl"]),
      ("swiftlang", ["swift-package-manager", "swift-foundation", "swift-testing"]),
    ]
    var made: [Repository] = []
    for (login, list) in names {
      guard let user = users.first(where: { $0.login == login }) else { continue }
      for name in list {
        made.append(
          Repository(
            id: 44_838_949 + made.count, name: name, fullName: "\(login)/\(name)",
            owner: Owner(login: login, id: user.id), description: made.count % 3 == 2 ? nil : "About \(name)",
            stars: 67_000 / (made.count + 1), forks: 10_000 / (made.count + 1), createdAt: "2015-10-23T21:15:07Z"))
      }
    }
    return made
  }()
}
