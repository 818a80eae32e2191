// SPDX-License-Identifier: Apache-2.0

// sample: Sources/Hello/Profiles.swift
import Lastro

struct Profiles {
  let github: any HTTPNetworkStack

  func title(of login: String) async throws -> String {
    let user = try await github.fetch(.user(login))
    return user.value.name ?? user.value.login
  }
}
// end
