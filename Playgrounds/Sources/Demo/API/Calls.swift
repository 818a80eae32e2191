// SPDX-License-Identifier: Apache-2.0

import Lastro

// The typed calls: each is declared once, with its model, and used as `forge.fetch(.user("apple"))`.

extension HTTPResource where Model == User, APIError == ForgeError {
  static func user(_ login: String) -> Self { .init(Forge.user(login), decoder: .forge) }
}

extension HTTPResource where Model == Repository, APIError == ForgeError {
  static func repository(_ owner: String, _ name: String) -> Self {
    .init(Forge.repository(owner: owner, name: name), decoder: .forge)
  }
}

extension HTTPResource where Model == [Repository], APIError == ForgeError {
  static func repositories(of owner: String, perPage: Int) -> Self {
    .init(Forge.repositories(owner: owner, perPage: perPage), decoder: .forge)
  }

  /// Returns the resource of a page whose complete URL the server has sent.
  static func page(_ url: String) -> Self {
    .init(
      baseRequestMaking: BaseRequestMaking { try ResourceRequest(url: url) }, decoding: .json(decoder: .forge),
      errorDecoding: .json(decoder: .forge))
  }
}

extension HTTPResource where Model == Issue, APIError == ForgeError {
  static func createIssue(_ owner: String, _ name: String, title: String, labels: [String] = []) -> Self {
    .init(Forge.createIssue(owner: owner, name: name, NewIssue(title: title, labels: labels)), decoder: .forge)
  }
}

extension HTTPResource where Model == Flaky, APIError == ForgeError {
  static func flaky(_ key: String, failures: Int, retrying policy: HTTPRetryPolicy) -> Self {
    .init(
      Forge.flaky(key: key, failures: failures), decoder: .forge, interceptors: [.retry(policy)])
  }
}

extension HTTPResource where Model == Secret, APIError == ForgeError {
  static func secret(
    query: String? = nil, through interceptors: [any HTTPResourceInterceptor] = []
  ) -> Self {
    .init(Forge.secret(query: query), decoder: .forge, interceptors: interceptors)
  }
}

extension HTTPResource where Model == NoContent, APIError == ForgeError {
  static var slow: Self { .init(Forge.slow, decoding: .empty, decoder: .forge) }

  /// Returns the resource of an archive with the given number of bytes. Open it as a stream.
  static func archive(_ owner: String, _ name: String, bytes: Int) -> Self {
    .init(Forge.archive(owner: owner, name: name, bytes: bytes), decoding: .empty, decoder: .forge)
  }
}
