// SPDX-License-Identifier: Apache-2.0

extension Page {
  static let recipes = Page("Recipes") { stage in
    let recipes = try RecipeStage(stage)
    defer { recipes.stop() }
    try await RequestRecipes.run(recipes)
    try await FileRecipes.run(recipes)
    try await StreamRecipes.run(recipes)
    try await FailureRecipes.run(recipes)
    try await CredentialRecipes.run(recipes)
    try await ConnectionRecipes.run(recipes)
    try await ServiceRecipes.run(recipes)
    try await TestRecipes.run(recipes)
    try await SocketRecipes.run(recipes)
  }
}
