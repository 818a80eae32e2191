// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import TestSupport
import Testing

/// A stack by another author. It has only `fetch`, with its own resource, payload, response and error.
private struct Dictionary: NetworkStack {
  struct Word: Sendable { var text: String }
  struct Page: Sendable, Equatable { var number: Int }
  enum Failure: Error, Equatable { case unknown }

  func fetch(_ resource: Word) async throws(Failure) -> Fetched<[Character], Page> {
    guard resource.text != "unknown" else { throw .unknown }
    return Fetched(value: Array(resource.text), response: Page(number: resource.text.count))
  }
}

private struct Refusal: Error, Equatable {}

@Suite("Network stacks", .timeLimit(.minutes(15)))
struct NetworkStackTests {
  private let dictionary = Dictionary()
  private typealias Decoding<T: Sendable> = ModelDecoding<T, [Character], Dictionary.Page>

  @Test("mapValue maps the value and keeps the response", .parity("NW01"))
  func mapValue() {
    let value = Fetched(value: 2, response: "r")
    #expect(value.mapValue { number, response in "\(number)\(response)" } == Fetched(value: "2r", response: "r"))
  }

  @Test("mapValue rethrows", .parity("NW02"))
  func mapValueThrows() {
    #expect(throws: Refusal.self) {
      try Fetched(value: 2, response: "r").mapValue { _, _ throws(Refusal) -> Int in throw Refusal() }
    }
  }

  @Test("A failed fetch throws the stack's own typed error, and decodes nothing", .parity("NS01"))
  func fetchFails() async throws {
    do throws(FetchAndDecodeError<Dictionary.Failure>) {
      _ = try await dictionary.fetchAndDecode(
        .init(text: "unknown"),
        decoding: Decoding<Int> { _, _ in
          Issue.record("nothing to decode")
          return 0
        })
      Issue.record("the call must fail")
    } catch {
      guard case .fetch(.unknown) = error else { throw error }
      #expect(!error.isCancelled)
    }
  }

  @Test("A failed decoding receives payload and response, and its error is kept", .parity("NS02"))
  func decodeFails() async throws {
    do throws(FetchAndDecodeError<Dictionary.Failure>) {
      _ = try await dictionary.fetchAndDecode(
        .init(text: "word"),
        decoding: Decoding<Int> { payload, page in
          #expect(payload == ["w", "o", "r", "d"] && page == .init(number: 4))
          throw Refusal()
        })
      Issue.record("the call must fail")
    } catch {
      guard case .decode(let failure) = error else { throw error }
      #expect(failure.underlying is Refusal)
      #expect(failure.status == nil)
    }
  }

  @Test("A success returns the model and the same response", .parity("NS03"))
  func succeeds() async throws {
    let value = try await dictionary.fetchAndDecode(
      .init(text: "word"), decoding: Decoding<Int> { $1.number + $0.count })
    #expect(value == Fetched(value: 8, response: .init(number: 4)))
  }

  @Test("Callback forms of a custom stack complete once, with value or error")
  func callbacks() async throws {
    let fetched = await withCheckedContinuation { continuation in
      dictionary.fetch(.init(text: "word")) { continuation.resume(returning: $0) }
    }
    #expect(try fetched.get().response.number == 4)
    let failed = await withCheckedContinuation { continuation in
      dictionary.fetch(.init(text: "unknown")) { continuation.resume(returning: $0) }
    }
    #expect(throws: Dictionary.Failure.unknown) { try failed.get() }
    let decoded = await withCheckedContinuation { continuation in
      dictionary.fetchAndDecode(.init(text: "word"), decoding: Decoding<Int> { $1.number + $0.count }) {
        continuation.resume(returning: $0)
      }
    }
    #expect(try decoded.get().value == 8)
  }

  private struct Stopping: NetworkStack {
    struct Failure: CancellationTelling { var isCancelled: Bool }
    func fetch(_ resource: Bool) async throws(Failure) -> Fetched<Int, Int> {
      throw Failure(isCancelled: resource)
    }
  }

  @Test("Errors of custom stacks report whether they are cancellations")
  func foreignCancellation() async {
    for isCancelled in [true, false] {
      let error = await #expect(throws: FetchAndDecodeError<Stopping.Failure>.self) {
        try await Stopping().fetchAndDecode(isCancelled, decoding: ModelDecoding<Int, Int, Int> { value, _ in value })
      }
      #expect(error?.isCancelled == isCancelled)
    }
  }
}
