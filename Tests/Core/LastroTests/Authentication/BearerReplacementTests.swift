// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import LastroTesting
import TestSupport
import Testing

@testable import Lastro

@Suite("Bearer authenticator: replacing the token and shutting down", .timeLimit(.minutes(15)))
struct BearerReplacementTests {
  let clock = ManualClock()
  let source = GatedSource()

  @Test("A token that was set is used at once, and can be read back with its remaining lifetime")
  func replace() async throws {
    let bearer = try BearerAuthenticator.test(source, token: .test("t1"), clock: clock)
    bearer.replace(with: try .test("mine", expiresIn: 100, refreshToken: "r"))
    clock.advance(by: .seconds(40))
    #expect(try await bearer.field() == "Bearer mine")
    let token = try #require(bearer.token)
    #expect(token.expiresIn == .seconds(60) && token.refreshToken == "r")
    #expect(try await bearer.action(refused: "t1").word == "retry")
    #expect(source.asked.isEmpty)
  }

  @Test("Replacing the token cancels a running refresh and drops its result; waiting requests use the new token")
  func replaceWhileRefreshing() async throws {
    let source = GatedSource(ignoresCancellation: true)
    let bearer = try BearerAuthenticator.test(source, token: .test("t1", expiresIn: 0), clock: clock)
    let request = Task { try await bearer.field() }
    let refused = Task { try await bearer.action(refused: "t1") }
    try #require(await eventually { bearer.waiters == 2 })
    try await source.waitForCall(1)
    bearer.replace(with: try .test("mine"))
    #expect(try await request.value == "Bearer mine")
    #expect(try await refused.value.word == "retry")
    #expect(source.cancelled == [0])
    source.answer(.success(try .test("theirs")))
    try #require(await eventually { source.running == 0 })
    #expect(bearer.token?.value == "mine")
  }

  @Test("When tokens are forgotten during a refresh, its token is dropped, and waiting requests get a new one")
  func forgetWhileRefreshing() async throws {
    let bearer = try BearerAuthenticator.test(source, token: .test("t1", expiresIn: 0), clock: clock)
    let request = Task { try await bearer.field() }
    try await source.waitForCall(1)
    bearer.replace(with: nil)
    try await source.waitForCall(2)
    #expect(bearer.token == nil && source.asked[1] == nil)
    source.answer(.success(try .test("t2")))
    #expect(try await request.value == "Bearer t2")
  }

  @Test("The source is told to forget with every replacement, and at no other time")
  func tellsSource() async throws {
    let bearer = try BearerAuthenticator.test(source, token: .test("t1"), clock: clock)
    let refused = Task { try await bearer.action(refused: "t1") }
    try await source.waitForCall(1)
    source.answer(.success(try .test("t2")))
    #expect(try await refused.value.word == "retry" && source.forgotten == 0)
    bearer.replace(with: try .test("t3"))
    bearer.replace(with: nil)
    #expect(source.forgotten == 2)
  }

  @Test("Dropping the authenticator ends a refresh that no request waits for, and frees everything")
  func release() async throws {
    weak var held: BearerAuthenticator?
    let source = source
    do {
      let bearer = try BearerAuthenticator.test(source, clock: clock)
      held = bearer
      let task = Task { try await bearer.field() }
      try await source.waitForCall(1)
      try await clock.waitForSleepers(count: 1)
      task.cancel()
      _ = await task.result
    }
    try #require(await eventually { held == nil })
    try #require(await eventually { source.running == 0 && clock.sleepers == 0 })
    #expect(source.cancelled == [0])
  }

  @Test("An authenticator that was used is freed with its source")
  func releaseAfterUse() async throws {
    weak var held: BearerAuthenticator?
    weak var heldSource: GatedSource?
    do {
      let source = GatedSource()
      let bearer = try BearerAuthenticator.test(source, clock: clock)
      (held, heldSource) = (bearer, source)
      let task = Task { try await bearer.field() }
      try await source.waitForCall(1)
      source.answer(.success(try .test("t1")))
      #expect(try await task.value == "Bearer t1")
    }
    try #require(await eventually { held == nil && heldSource == nil && clock.sleepers == 0 })
  }
}
