// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
public import Lastro

extension HTTPNetworkStack {
  /// Reads a resource, changes it, and writes it only if nobody else has changed it since (RFC 9110 §13.1.1).
  ///
  /// ```swift
  /// try await stack.update(.get("/notes/7", as: Note.self)) { note in
  ///   guard !note.isDone else { return nil }
  ///   return .put("/notes/7", json: note.done())
  /// }
  /// ```
  ///
  /// The write has the strong `ETag` of the response in `If-Match`, or its `Last-Modified` in `If-Unmodified-Since` if
  /// it has no strong tag. If the server refuses the write with 412 because the resource has changed, it is read again,
  /// past every cache, and `change` is called with what others have made of it.
  ///
  /// A write whose response was lost may have been applied. If the stack's policy sends it again, the server refuses it,
  /// because it no longer matches. `change` then gets the resource with its own change, and returns `nil` if that is all
  /// there is to do.
  ///
  /// Cancelling the task cancels the call in progress.
  ///
  /// - Parameters:
  ///   - resource: the resource to read.
  ///   - attempts: the maximum number of writes. Default 5; a number below 1 counts as 1. Between two, the call waits for a random part of
  ///     100 ms, which doubles each time.
  ///   - change: gets the model, and returns the resource to write it; `nil` if nothing is to change.
  /// - Returns: the response to the write; `nil` if `change` returned `nil`.
  /// - Throws: `HTTPFetchError` of a read or write: stage `http`, status 412, if every attempt met a change of others;
  ///   stage `response`, code `no_validator`, if the response to the read has no strong `ETag` and no `Last-Modified`;
  ///   the errors of `change`.
  @discardableResult
  public func update<Model, ReadError, Result, WriteError>(
    _ resource: HTTPResource<Model, ReadError>, attempts: Int = 5,
    change: (Model) async throws -> HTTPResource<Result, WriteError>?
  ) async throws -> Fetched<Result, ResourceResponse>? {
    let configuration = ownConfiguration
    var bound = Duration.milliseconds(100)
    var attempt = 1
    while true {
      let read = try await fetch(attempt == 1 ? resource : resource.pastCaches)
      let condition = try Precondition(read.response)
      guard let write = try await change(read.value) else { return nil }
      do throws(HTTPFetchError<WriteError>) {
        return try await fetch(write.setting(condition.name, condition.value))
      } catch {
        guard error.statusCode == .preconditionFailed, attempt < attempts else { throw error }
      }
      try await configuration.timeSource.sleep(bound * configuration.randomSource.unit())
      bound = min(bound * 2, .seconds(5))
      attempt += 1
    }
  }
}

/// The condition under which a resource is written.
private struct Precondition {
  let name: HTTPField.Name
  let value: String

  init(_ response: ResourceResponse) throws {
    if let tag = response.headerFields[.eTag], !tag.hasPrefix("W/") {
      (name, value) = (.ifMatch, tag)
    } else if let date = response.headerFields[.lastModified] {
      (name, value) = (.ifUnmodifiedSince, date)
    } else {
      throw HTTPFetchError<any Error>(
        .transport(
          TransportError(
            stage: .response, code: .noValidator, message: "the response has no strong ETag and no Last-Modified",
            hint: "the API cannot tell a changed resource from an unchanged one: write it without a condition",
            requestSent: true)),
        request: response.ledger.request, response: response, attempts: response.attempts)
    }
  }
}

extension HTTPResource {
  /// The resource, requested from the server even if a cache has it.
  fileprivate var pastCaches: Self {
    var resource = self
    resource.options.cache = .reload
    return resource.setting(.cacheControl, "no-cache")
  }

  /// Returns the resource with a field of its request.
  fileprivate func setting(_ name: HTTPField.Name, _ value: String) -> Self {
    var resource = self
    resource.baseRequestMaking = baseRequestMaking.changing { $0.head.headerFields[name] = value }
    return resource
  }
}

extension FailureCode {
  /// A response has nothing by which a change of the resource could be noticed.
  public static let noValidator = Self("no_validator")
}
